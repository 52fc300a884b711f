#pragma once

#include <condition_variable>
#include <mutex>

// Annotations that clang's -Wthread-safety checks; other compilers ignore them.
#if defined(__clang__)
#define LAKE_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define LAKE_THREAD_ANNOTATION(x)
#endif

#define LAKE_GUARDED_BY(x) LAKE_THREAD_ANNOTATION(guarded_by(x))
#define LAKE_REQUIRES(...) LAKE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define LAKE_EXCLUDES(...) LAKE_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

namespace lake {

/// std::mutex with annotations. Lock it by MutexLock.
class LAKE_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void Lock() LAKE_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void Unlock() LAKE_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

/// Holds a Mutex for a scope.
class LAKE_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) LAKE_THREAD_ANNOTATION(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_->Lock();
  }
  ~MutexLock() LAKE_THREAD_ANNOTATION(release_capability()) { mutex_->Unlock(); }

  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mutex_;
};

/// A condition variable for Mutex.
class CondVar {
 public:
  /// Releases `mutex`, waits for a signal (or wakes for no reason), takes `mutex` again.
  void Wait(Mutex* mutex) LAKE_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  void Signal() { condition_.notify_one(); }
  void SignalAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace lake
