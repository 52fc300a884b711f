#include <algorithm>
#include <atomic>
#include <filesystem>
#include <utility>

#include <arrow/api.h>
#include <duckdb/common/arrow/arrow_wrapper.hpp>
#include <duckdb/common/types/column/column_data_collection.hpp>
#include <duckdb/execution/partition_info.hpp>
#include <duckdb/function/partition_stats.hpp>
#include <duckdb/planner/operator/logical_get.hpp>
#include <duckdb/storage/statistics/node_statistics.hpp>

#include "lake/base/arrow_select.h"
#include "lake/query/catalog_internal.h"
#include "lake/query/duckdb_error_internal.h"
#include "lake/query/scan_internal.h"
#include "lake/query/session_state_internal.h"
#include "lake/query/transaction_internal.h"
#include "lake/storage/local_store.h"

namespace lake::query {
namespace {

constexpr char kLakeScanName[] = "lake_scan";

/// What the running transaction did to the table, or null.
const PendingChanges* PendingOf(duckdb::ClientContext& context, const ScanBindData& data) {
  if (!data.entry || data.entry->table()->dataset == nullptr) return nullptr;
  auto& transaction = LakeTransaction::Get(context, data.entry->ParentCatalog());
  const PendingChanges* pending = transaction.PendingFor(data.entry->table()->entry.incarnation);
  if (pending == nullptr) return nullptr;
  // Time travel has opened a table of its own: it sees what it names, without what is not
  // committed.
  return pending->table() == data.entry->table() ? pending : nullptr;
}

/// A column that DuckDB asks for.
struct OutputColumn {
  /// Index into the table's columns; nothing for the others.
  std::optional<size_t> table_column;
  /// A hidden column, or nothing: with no table column either, the empty one of count(*).
  const HiddenColumn* hidden = nullptr;
  /// Position in the scanner's batches.
  int batch_column = -1;
};

struct ScanGlobalState : public duckdb::GlobalTableFunctionState {
  std::vector<OutputColumn> output;
  std::shared_ptr<table::Scanner> scanner;
  const PendingChanges* pending = nullptr;
  /// Where the addresses of rows are in the batches, if some rows are to be left out.
  int address_column = -1;
  Context context;
  /// Units of work: the scanner's morsels, then the pending parts.
  size_t num_units = 0;
  std::atomic<size_t> next_unit{0};
  std::atomic<size_t> units_done{0};

  duckdb::idx_t MaxThreads() const override { return num_units == 0 ? 1 : num_units; }
};

/// The dictionary of a column's batches as DuckDB sees it, for as long as batches share it.
struct ColumnDictionary {
  /// Null if the column's batch has none.
  std::shared_ptr<arrow::ArrayData> values;
  /// The values, then a null.
  std::unique_ptr<duckdb::Vector> vector;
  /// By which DuckDB knows that chunks share a dictionary.
  duckdb::string id;
  /// Of the batch: what its rows name of `values`.
  std::shared_ptr<arrow::DictionaryArray> rows;
};

struct ScanLocalState : public duckdb::LocalTableFunctionState {
  explicit ScanLocalState(duckdb::ClientContext& context)
      : arrow(duckdb::make_uniq<duckdb::ArrowArrayWrapper>(), context) {}

  size_t unit = 0;
  duckdb::ArrowScanLocalState arrow;
  /// By output column.
  std::vector<ColumnDictionary> dictionaries;
  int64_t batch_rows = 0;
  /// The pending part being read, if the unit is one.
  const PendingPart* part = nullptr;
  duckdb::ColumnDataScanState part_state;
  duckdb::DataChunk part_chunk;
  /// The number of the next row of the part among all pending rows.
  uint64_t part_row = 0;
};

bool IsVirtual(duckdb::column_t column) {
  return column == duckdb::COLUMN_IDENTIFIER_ROW_ID || column == duckdb::COLUMN_IDENTIFIER_EMPTY ||
         column >= duckdb::VIRTUAL_COLUMN_START;
}

const HiddenColumn* FindHidden(duckdb::column_t column) {
  for (const HiddenColumn& hidden : kHiddenColumns) {
    if (hidden.id == column) return &hidden;
  }
  return nullptr;
}

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> InitGlobal(
    duckdb::ClientContext& context, duckdb::TableFunctionInitInput& input) {
  const auto& data = input.bind_data->Cast<ScanBindData>();
  auto state = duckdb::make_uniq<ScanGlobalState>();
  state->context = SessionState::Of(context).context;
  table::ScanOptions options;
  options.columns.emplace();
  for (duckdb::column_t column : input.column_ids) {
    OutputColumn output;
    if (!IsVirtual(column)) {
      output.table_column = column;
      output.batch_column = static_cast<int>(options.columns->size());
      options.columns->push_back(data.sql->columns[column].name);
    } else if ((output.hidden = FindHidden(column)) != nullptr) {
      output.batch_column = static_cast<int>(options.columns->size());
      options.columns->push_back(output.hidden->name);
    }
    state->output.push_back(output);
  }
  state->pending = PendingOf(context, data);
  if (state->pending != nullptr && state->pending->removes_any()) {
    state->address_column = static_cast<int>(options.columns->size());
    options.columns->push_back(kHiddenColumns[0].name);
  }
  options.filter = data.filter;
  // A row that is left out does not count.
  if (state->address_column < 0) options.limit = data.limit;
  options.keep_dictionaries = true;
  state->scanner = ValueOrThrow(data.dataset->Scan(state->context, std::move(options)));
  state->num_units = state->scanner->num_morsels();
  if (state->pending != nullptr) {
    if (data.filter) {
      ThrowStatus(RetryableError(ErrorCode::kInternal,
                                 "internal: a plan made before this transaction "
                                 "wrote cannot read its rows: {}",
                                 data.name));
    }
    state->num_units += state->pending->parts().size();
  }
  return state;
}

duckdb::unique_ptr<duckdb::LocalTableFunctionState> InitLocal(duckdb::ExecutionContext& context,
                                                              duckdb::TableFunctionInitInput&,
                                                              duckdb::GlobalTableFunctionState*) {
  return duckdb::make_uniq<ScanLocalState>(context.client);
}

/// Makes `column` that of `array`, which may have the dictionary of the batch before.
void TakeDictionary(const SqlColumn& sql, std::shared_ptr<arrow::Array> array,
                    ColumnDictionary* column) {
  static std::atomic<uint64_t> next_id{0};
  column->rows = std::static_pointer_cast<arrow::DictionaryArray>(std::move(array));
  const std::shared_ptr<arrow::ArrayData>& values = column->rows->data()->dictionary;
  if (column->values == values) return;
  const auto strings = std::static_pointer_cast<arrow::BinaryArray>(column->rows->dictionary());
  const auto size = static_cast<duckdb::idx_t>(strings->length());
  column->values = values;
  column->vector = std::make_unique<duckdb::Vector>(sql.type, size + 1);
  auto* out = duckdb::FlatVector::GetData<duckdb::string_t>(*column->vector);
  for (duckdb::idx_t i = 0; i < size; ++i) {
    const std::string_view value = strings->GetView(static_cast<int64_t>(i));
    out[i] = duckdb::StringVector::AddStringOrBlob(*column->vector, value.data(), value.size());
  }
  duckdb::FlatVector::SetNull(*column->vector, size, true);
  column->id = "lake-" + std::to_string(next_id.fetch_add(1));
}

/// Rows [offset, offset + count) of the batch as a vector over the dictionary.
void EmitDictionary(const ColumnDictionary& column, duckdb::idx_t offset, duckdb::idx_t count,
                    duckdb::Vector& vector) {
  // DuckDB hashes a whole dictionary that it knows the size of, once for each chunk.
  constexpr int64_t kMaxKnownSize = 2 * STANDARD_VECTOR_SIZE;
  const arrow::DictionaryArray& rows = *column.rows;
  const int64_t size = column.values->length;
  const auto* indices = rows.indices()->data()->GetValues<uint32_t>(1);
  duckdb::SelectionVector selection(count);
  for (duckdb::idx_t i = 0; i < count; ++i) {
    const auto row = static_cast<int64_t>(offset + i);
    selection.set_index(i, indices[row]);
  }
  if (rows.null_count() > 0) {
    for (duckdb::idx_t i = 0; i < count; ++i) {
      if (rows.IsNull(static_cast<int64_t>(offset + i))) {
        selection.set_index(i, static_cast<duckdb::idx_t>(size));
      }
    }
  }
  if (size > kMaxKnownSize) {
    vector.Slice(*column.vector, selection, count);
    return;
  }
  vector.Dictionary(*column.vector, static_cast<duckdb::idx_t>(size) + 1, selection, count);
  duckdb::DictionaryVector::SetDictionaryId(vector, column.id);
}

/// `batch` without the rows that the transaction took out.
Result<std::shared_ptr<arrow::RecordBatch>> WithoutRemoved(
    const ScanGlobalState& global, std::shared_ptr<arrow::RecordBatch> batch) {
  if (global.address_column < 0) return batch;
  const auto& addresses =
      static_cast<const arrow::UInt64Array&>(*batch->column(global.address_column));
  arrow::BooleanBuilder keep;
  ARROW_RETURN_NOT_OK(keep.Reserve(addresses.length()));
  for (int64_t i = 0; i < addresses.length(); ++i) {
    keep.UnsafeAppend(!global.pending->Removed(addresses.Value(i)));
  }
  std::shared_ptr<arrow::BooleanArray> mask;
  ARROW_RETURN_NOT_OK(keep.Finish(&mask));
  return FilterRows(batch, mask, arrow::default_memory_pool());
}

/// The values that DuckDB cannot take as they are stored, in a form that it takes.
Result<std::shared_ptr<arrow::RecordBatch>> Shown(const ScanBindData& data,
                                                  const ScanGlobalState& global,
                                                  std::shared_ptr<arrow::RecordBatch> batch) {
  for (const OutputColumn& output : global.output) {
    if (!output.table_column) continue;
    const SqlColumn& column = data.sql->columns[*output.table_column];
    ARROW_RETURN_NOT_OK(ShowColumn(column, output.batch_column, &batch));
  }
  return batch;
}

/// Hands a morsel's batch to the local state.
void TakeBatch(const ScanBindData& data, const ScanGlobalState& global, ScanLocalState& local,
               const arrow::RecordBatch& batch) {
  local.dictionaries.resize(global.output.size());
  for (size_t i = 0; i < global.output.size(); ++i) {
    const OutputColumn& output = global.output[i];
    local.dictionaries[i].rows = nullptr;
    if (!output.table_column) continue;
    const std::shared_ptr<arrow::Array>& array = batch.column(output.batch_column);
    // A column that is declared as a dictionary is DuckDB's to convert.
    if (array->type_id() != arrow::Type::DICTIONARY ||
        global.scanner->schema()->field(output.batch_column)->type()->id() ==
            arrow::Type::DICTIONARY) {
      continue;
    }
    TakeDictionary(data.sql->columns[*output.table_column], array, &local.dictionaries[i]);
  }
  auto wrapper = duckdb::make_shared_ptr<duckdb::ArrowArrayWrapper>();
  ThrowIfError(arrow::ExportRecordBatch(batch, &wrapper->arrow_array));
  local.arrow.Reset();
  local.arrow.chunk = std::move(wrapper);
  local.batch_rows = batch.num_rows();
}

/// Starts the next unit with rows. False at the end.
bool NextUnit(duckdb::ClientContext& context, const ScanBindData& data, ScanGlobalState& global,
              ScanLocalState& local) {
  while (true) {
    if (context.interrupted) throw duckdb::InterruptException();
    local.part = nullptr;
    local.batch_rows = 0;
    const size_t unit = global.next_unit.fetch_add(1);
    if (unit >= global.num_units) return false;
    local.unit = unit;
    const size_t num_morsels = global.scanner->num_morsels();
    if (unit >= num_morsels) {
      local.part = &global.pending->parts()[unit - num_morsels];
      local.part_row = local.part->first;
      local.part->rows->InitializeScan(local.part_state);
      if (local.part_chunk.ColumnCount() == 0) {
        local.part->rows->InitializeScanChunk(local.part_chunk);
      }
      return true;
    }
    auto batch = ValueOrThrow(global.scanner->Read(global.context, unit));
    global.units_done.fetch_add(1);
    if (batch == nullptr || batch->num_rows() == 0) continue;
    batch = ValueOrThrow(WithoutRemoved(global, std::move(batch)));
    if (batch->num_rows() == 0) continue;
    TakeBatch(data, global, local, *ValueOrThrow(Shown(data, global, std::move(batch))));
    return true;
  }
}

void SetAllNull(duckdb::Vector& vector) {
  vector.SetVectorType(duckdb::VectorType::CONSTANT_VECTOR);
  duckdb::ConstantVector::SetNull(vector, true);
}

void EmitBatchRows(const ScanBindData& data, const ScanGlobalState& global, ScanLocalState& local,
                   duckdb::DataChunk& output) {
  ArrowArray& parent = local.arrow.chunk->arrow_array;
  const duckdb::idx_t rows =
      std::min<duckdb::idx_t>(STANDARD_VECTOR_SIZE, static_cast<duckdb::idx_t>(local.batch_rows) -
                                                        local.arrow.chunk_offset);
  output.SetCardinality(rows);
  for (size_t i = 0; i < global.output.size(); ++i) {
    duckdb::Vector& vector = output.data[i];
    const OutputColumn& column = global.output[i];
    if (column.batch_column < 0) {
      SetAllNull(vector);
      continue;
    }
    if (local.dictionaries[i].rows != nullptr) {
      EmitDictionary(local.dictionaries[i], local.arrow.chunk_offset, rows, vector);
      continue;
    }
    ArrowArray& array = *parent.children[column.batch_column];
    static const duckdb::ArrowType kHiddenType(duckdb::LogicalType::UBIGINT);
    const duckdb::ArrowType& type =
        column.table_column ? *data.sql->conversion.GetColumns().at(*column.table_column)
                            : kHiddenType;
    duckdb::ArrowArrayScanState& state = local.arrow.GetState(i);
    if (!state.owned_data) state.owned_data = local.arrow.chunk;
    duckdb::ArrowToDuckDBConversion::SetValidityMask(vector, array, local.arrow.chunk_offset, rows,
                                                     parent.offset, -1);
    duckdb::ArrowToDuckDBConversion::ColumnArrowToDuckDB(vector, array, local.arrow.chunk_offset,
                                                         state, rows, type);
  }
  local.arrow.chunk_offset += rows;
}

/// Emits the next rows of a pending part. False at its end.
bool EmitPendingRows(const ScanGlobalState& global, ScanLocalState& local,
                     duckdb::DataChunk& output) {
  duckdb::SelectionVector live(STANDARD_VECTOR_SIZE);
  duckdb::idx_t rows = 0;
  uint64_t first = 0;
  while (rows == 0) {
    local.part_chunk.Reset();
    if (!local.part->rows->Scan(local.part_state, local.part_chunk)) return false;
    first = local.part_row;
    local.part_row += local.part_chunk.size();
    for (duckdb::idx_t i = 0; i < local.part_chunk.size(); ++i) {
      if (!global.pending->Removed(kPendingRowBit | (first + i))) live.set_index(rows++, i);
    }
  }
  output.SetCardinality(rows);
  for (size_t i = 0; i < global.output.size(); ++i) {
    const OutputColumn& column = global.output[i];
    duckdb::Vector& vector = output.data[i];
    if (column.table_column) {
      vector.Slice(local.part_chunk.data[*column.table_column], live, rows);
    } else if (column.hidden != nullptr && column.hidden->id == kRowAddressColumn) {
      auto* addresses = duckdb::FlatVector::GetData<uint64_t>(vector);
      for (duckdb::idx_t row = 0; row < rows; ++row) {
        addresses[row] = kPendingRowBit | (first + live.get_index(row));
      }
    } else {
      SetAllNull(vector);
    }
  }
  return true;
}

void Scan(duckdb::ClientContext& context, duckdb::TableFunctionInput& input,
          duckdb::DataChunk& output) {
  const auto& data = input.bind_data->Cast<ScanBindData>();
  auto& global = input.global_state->Cast<ScanGlobalState>();
  auto& local = input.local_state->Cast<ScanLocalState>();
  while (true) {
    if (local.part != nullptr) {
      if (EmitPendingRows(global, local, output)) return;
      global.units_done.fetch_add(1);
    } else if (local.arrow.chunk_offset < static_cast<duckdb::idx_t>(local.batch_rows)) {
      EmitBatchRows(data, global, local, output);
      return;
    }
    if (!NextUnit(context, data, global, local)) return;
  }
}

duckdb::unique_ptr<duckdb::NodeStatistics> Cardinality(duckdb::ClientContext& context,
                                                       const duckdb::FunctionData* bind_data) {
  const auto& data = bind_data->Cast<ScanBindData>();
  const auto rows = data.dataset->CountRows(SessionState::Of(context).context);
  if (!rows.ok()) return duckdb::make_uniq<duckdb::NodeStatistics>();
  return duckdb::make_uniq<duckdb::NodeStatistics>(*rows, *rows);
}

/// Answers count(*) from the manifest.
duckdb::vector<duckdb::PartitionStatistics> PartitionStats(duckdb::ClientContext& context,
                                                           duckdb::GetPartitionStatsInput& input) {
  const auto& data = input.bind_data->Cast<ScanBindData>();
  if (data.filter || data.limit) return {};
  duckdb::PartitionStatistics statistics;
  statistics.row_start = 0;
  statistics.count = ValueOrThrow(data.dataset->CountRows(SessionState::Of(context).context));
  if (const PendingChanges* pending = PendingOf(context, data)) {
    statistics.count = pending->CountRows(statistics.count);
  }
  statistics.count_type = duckdb::CountType::COUNT_EXACT;
  return {statistics};
}

void PushFilters(duckdb::ClientContext& context, duckdb::LogicalGet& get,
                 duckdb::FunctionData* bind_data,
                 duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& filters) {
  auto& data = bind_data->Cast<ScanBindData>();
  // Rows of the transaction itself are not in the dataset: DuckDB filters then.
  if (PendingOf(context, data) != nullptr) return;
  duckdb::vector<duckdb::unique_ptr<duckdb::Expression>> kept;
  for (auto& filter : filters) {
    const auto translated = TranslateFilter(get, data, *filter);
    if (!translated) {
      kept.push_back(std::move(filter));
      continue;
    }
    data.filter = data.filter ? arrow::compute::and_(*data.filter, *translated) : *translated;
  }
  filters = std::move(kept);
}

duckdb::OperatorPartitionData PartitionData(duckdb::ClientContext&,
                                            duckdb::TableFunctionGetPartitionInput& input) {
  return duckdb::OperatorPartitionData(input.local_state->Cast<ScanLocalState>().unit);
}

double Progress(duckdb::ClientContext&, const duckdb::FunctionData*,
                const duckdb::GlobalTableFunctionState* state) {
  const auto& global = state->Cast<ScanGlobalState>();
  if (global.num_units == 0) return 100;
  return 100.0 * static_cast<double>(global.units_done.load()) /
         static_cast<double>(global.num_units);
}

duckdb::BindInfo GetBindInfo(const duckdb::optional_ptr<duckdb::FunctionData> bind_data) {
  const auto& data = bind_data->Cast<ScanBindData>();
  if (!data.entry) return duckdb::BindInfo(duckdb::ScanType::EXTERNAL);
  return duckdb::BindInfo(*data.entry);
}

duckdb::InsertionOrderPreservingMap<duckdb::string> Describe(
    duckdb::TableFunctionToStringInput& input) {
  const auto& data = input.bind_data->Cast<ScanBindData>();
  duckdb::InsertionOrderPreservingMap<duckdb::string> result;
  result["Table"] = data.name;
  result["Version"] = std::to_string(data.dataset->manifest().version());
  if (data.filter) result["Pushed filter"] = data.filter->ToString();
  if (data.limit) result["Pushed limit"] = std::to_string(*data.limit);
  return result;
}

duckdb::virtual_column_map_t VirtualColumns(duckdb::ClientContext&,
                                            duckdb::optional_ptr<duckdb::FunctionData>) {
  return HiddenColumnMap();
}

void AddHooks(duckdb::TableFunction* function) {
  function->init_global = InitGlobal;
  function->init_local = InitLocal;
  function->function = Scan;
  function->cardinality = Cardinality;
  function->pushdown_complex_filter = PushFilters;
  function->get_partition_data = PartitionData;
  function->get_partition_stats = PartitionStats;
  function->table_scan_progress = Progress;
  function->to_string = Describe;
  function->get_virtual_columns = VirtualColumns;
  function->projection_pushdown = true;
  function->verify_serialization = false;
}

duckdb::unique_ptr<duckdb::FunctionData> BindLanceScan(duckdb::ClientContext& context,
                                                       duckdb::TableFunctionBindInput& input,
                                                       duckdb::vector<duckdb::LogicalType>& types,
                                                       duckdb::vector<duckdb::string>& names) {
  if (input.inputs[0].IsNull()) {
    ThrowStatus(
        Error(ErrorCode::kInvalidArgument, "lance_scan takes the path of a dataset, not NULL"));
  }
  const std::string path = input.inputs[0].GetValue<std::string>();
  const Context& call = SessionState::Of(context).context;
  auto data = duckdb::make_uniq<ScanBindData>();
  data->name = path;
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    ThrowStatus(Error(ErrorCode::kNotFound,
                      "not found: lance_scan wants the folder of a dataset: '{}'", path));
  }
  auto store = ValueOrThrow(storage::OpenLocalStore(path));
  data->dataset = ValueOrThrow(table::Dataset::Open(call, std::move(store)));
  data->sql = ValueOrThrow(SqlTableFromArrow(context, path, *data->dataset->arrow_schema()));
  for (const SqlColumn& column : data->sql->columns) {
    types.push_back(column.type);
    names.push_back(column.name);
  }
  return data;
}

}  // namespace

duckdb::unique_ptr<duckdb::FunctionData> ScanBindData::Copy() const {
  auto copy = duckdb::make_uniq<ScanBindData>();
  copy->name = name;
  copy->dataset = dataset;
  copy->sql = sql;
  copy->entry = entry;
  copy->filter = filter;
  copy->limit = limit;
  return copy;
}

bool ScanBindData::Equals(const duckdb::FunctionData& other) const {
  const auto& scan = other.Cast<ScanBindData>();
  const bool same_filter =
      filter.has_value() == scan.filter.has_value() && (!filter || filter->Equals(*scan.filter));
  return dataset == scan.dataset && entry == scan.entry && same_filter && limit == scan.limit;
}

duckdb::virtual_column_map_t HiddenColumnMap() {
  duckdb::virtual_column_map_t columns;
  columns.insert(
      {duckdb::COLUMN_IDENTIFIER_EMPTY, duckdb::TableColumn("", duckdb::LogicalType::BOOLEAN)});
  for (const HiddenColumn& hidden : kHiddenColumns) {
    columns.insert({hidden.id, duckdb::TableColumn(hidden.name, duckdb::LogicalType::UBIGINT)});
  }
  return columns;
}

duckdb::TableFunction LakeScanFunction() {
  duckdb::TableFunction function(kLakeScanName, {}, Scan);
  AddHooks(&function);
  function.get_bind_info = GetBindInfo;
  return function;
}

duckdb::TableFunction LanceScanFunction() {
  duckdb::TableFunction function("lance_scan", {duckdb::LogicalType::VARCHAR}, Scan, BindLanceScan);
  AddHooks(&function);
  return function;
}

bool IsLakeScan(const duckdb::TableFunction& function) {
  return function.name == kLakeScanName && function.function == Scan;
}

}  // namespace lake::query
