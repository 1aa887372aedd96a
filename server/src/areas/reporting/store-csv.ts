// A transaction becomes a line on its way out of PostgreSQL: to send its cells and to put them together elsewhere takes several times as
// long. Here `r` is a transaction, `p`, `m` and `b` are its partner, merchant and branch, and `c` is the code of the branch.

type Cells = Readonly<Record<string, string>>

const orEmpty = (text: string): string => `coalesce(${text}, '')`
const timeOf = (time: string): string => `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

// Words, numbers and times of ours.
const ownCells: Cells = {
  id: 'r.id',
  status: 'r.status',
  amount: 'r.amount',
  currency: 'r.currency',
  payment_method: 'r.payment_method',
  created_at: timeOf('r.created_at'),
  updated_at: timeOf('r.updated_at'),
  card_brand: orEmpty('r.card_brand'),
  card_last_four: orEmpty('r.card_last_four'),
  correlation_id: orEmpty('r.correlation_id::text'),
  'amount_details.amount_authorized': 'r.amount_authorized',
  'amount_details.amount_capturable': `case r.status when 'AUTHORIZED' then r.amount_authorized - r.amount_received else 0 end`,
  'amount_details.amount_received': 'r.amount_received',
  'amount_details.amount_refunded': 'r.amount_refunded',
  'amount_details.original_amount': 'r.amount',
  'amount_details.tax_amount': '0',
  'amount_details.final_amount': 'r.amount',
}

// The rest may be what somebody else wrote.
const receiptCells: Cells = {
  'receipt.receipt_number': 'r.receipt_number',
  'receipt.auth_number': 'r.approval_code',
  'receipt.batch_number': 'r.batch_number',
  'receipt.approval_code': 'r.approval_code',
  'receipt.reference_number': 'r.reference_number',
}

const merchantCells: Cells = {
  'merchant_details.merchant_name': 'm.name',
  'merchant_details.merchant_id': 'm.id::text',
  'merchant_details.partner_name': 'p.name',
  'merchant_details.branch_id': 'b.id::text',
  'merchant_details.branch_name': 'b.name',
}

const terminalCells: Cells = {
  'terminal_details.terminal_name': 'r.terminal_device_id',
  'terminal_details.activation_code': 'c.code',
  'terminal_details.serial_number': 'r.terminal_device_id',
}

/** The fields of a transaction in the order of the contract; a nested one by its path. */
export const transactionColumns: readonly string[] = [ownCells, receiptCells, merchantCells, terminalCells].flatMap(
  (cells) => Object.keys(cells),
)

const special = `[",\\r\\n]`
const formula = `[=+\\-@\\t\\r]`

type Join = (cells: readonly string[]) => string

const joined: Join = (cells) => `concat_ws(',', ${cells.join(', ')})`

/** Texts as cells (RFC 4180). What a spreadsheet could take for a formula gets a leading apostrophe. */
const guarded: Join = (cells) => {
  const safe = `case when cell ~ '^${formula}' then '''' else '' end || cell`
  return `(
    select string_agg(case when cell ~ '${special}' then '"' || replace(${safe}, '"', '""') || '"' else ${safe} end, ',' order by place)
      from unnest(array[${cells.join(', ')}]) with ordinality as cells (cell, place))`
}

/** The cells of a part that is left out where it has no `key`. */
const partOf = (cells: Cells, key: string, join: Join): string => {
  const values = Object.values(cells)
  const absent = ','.repeat(values.length - 1)
  return `case when ${key} is null then '${absent}' else ${join(values.map(orEmpty))} end`
}

const lineOf = (join: Join): string =>
  joined([
    ...Object.values(ownCells),
    join(Object.values(receiptCells).map(orEmpty)),
    join(Object.values(merchantCells)),
    partOf(terminalCells, 'r.terminal_device_id', join),
  ])

const foreign = ['r.receipt_number', 'r.approval_code', 'r.reference_number', 'm.name', 'p.name', 'b.name']
const foreignAtTerminals = ['r.terminal_device_id', 'c.code']

/**
 * A transaction as a line. One look at all that somebody else wrote tells of nearly every line that its cells go out as
 * they are.
 */
export const transactionLine = `
  case when concat_ws(E'\\x1f', ${[...foreign, ...foreignAtTerminals].join(', ')}) ~ '(?:^|\\x1f)${formula}|${special}'
       then ${lineOf(guarded)} else ${lineOf(joined)} end || E'\\r\\n'`
