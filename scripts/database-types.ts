import pg from 'pg'
import { connectionConfig } from '../server/src/kernel/db.ts'
import { freshDatabase, startTestCluster } from '../server/test/cluster.ts'

interface Column {
  readonly table: string
  readonly column: string
  readonly type: string
  readonly nullable: boolean
  /** Allowed values, where a check lists them. */
  readonly check: string | null
}

const types: Readonly<Record<string, string>> = {
  uuid: 'string',
  text: 'string',
  'text[]': 'string[]',
  boolean: 'boolean',
  integer: 'number',
  bigint: 'bigint',
  json: 'unknown',
  bytea: 'Buffer',
  'timestamp with time zone': 'Date',
  'uuid[]': 'readonly string[]',
}

// Partitions are their parent's. A check of one column alone that lists values is the column's type.
const readColumns = `
  select n.nspname || '.' || c.relname as table, a.attname as column, format_type(a.atttypid, a.atttypmod) as type,
         not a.attnotnull as nullable,
         (select pg_get_constraintdef(k.oid) from pg_constraint k
           where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum]
             and pg_get_constraintdef(k.oid) like '%= ANY (ARRAY[%' limit 1) as check
    from pg_attribute a
    join pg_class c on c.oid = a.attrelid
    join pg_namespace n on n.oid = c.relnamespace
   where c.relkind in ('r', 'p') and not c.relispartition and a.attnum > 0 and not a.attisdropped
     and n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema'
   order by n.nspname, c.relname, a.attnum`

// In the order in which PostgreSQL reads their values.
const readRecords = `
  select n.nspname || '.' || c.relname as table, a.attname as column, format_type(a.atttypid, a.atttypmod) as type, true as nullable, null as check
    from pg_attribute a
    join pg_class c on c.oid = a.attrelid
    join pg_namespace n on n.oid = c.relnamespace
   where c.relkind = 'c' and a.attnum > 0 and not a.attisdropped
   order by n.nspname, c.relname, a.attnum`

/** The tables and records of the migrated schema as TypeScript: what the driver gives for a row of each, and what it is given. */
export async function databaseTypes(): Promise<string> {
  await using cluster = await startTestCluster()
  await using database = await freshDatabase(cluster.handle)
  const client = new pg.Client(connectionConfig(database.target))
  await client.connect()
  const tables = await client.query<Column>(readColumns)
  const records = await client.query<Column>(readRecords)
  await client.end()
  return render(tables.rows, records.rows)
}

const byTable = (columns: readonly Column[]) => [...Map.groupBy(columns, (column) => column.table)]
const interfacesOf = (columns: readonly Column[]) =>
  byTable(columns).map(
    ([table, of]) =>
      `  readonly '${table}': {\n${of.map((column) => `    readonly ${column.column}: ${typeOf(column)}`).join('\n')}\n  }`,
  )

function render(tables: readonly Column[], records: readonly Column[]): string {
  const typesOf = byTable(records).map(
    ([record, of]) => `  '${record}': {\n${of.map(({ column, type }) => `    ${column}: '${type}',`).join('\n')}\n  },`,
  )
  return [
    '// Made from the migrated schema by `npm run generate`; a check compares it with the schema.',
    '',
    '/** A row of each table as the driver gives it. */',
    `export interface Tables {\n${interfacesOf(tables).join('\n')}\n}`,
    '',
    '/** A value of each composite type, as `recordsOf` takes it. */',
    `export interface Records {\n${interfacesOf(records).join('\n')}\n}`,
    '',
    '/** The types of their columns, in their order. */',
    `export const recordTypes = {\n${typesOf.join('\n')}\n} as const`,
    '',
  ].join('\n')
}

function typeOf({ table, column, type, nullable, check }: Column): string {
  const plain = types[type]
  if (plain === undefined)
    throw new Error(`${table}.${column} is of the type ${type}, which has no TypeScript type here`)
  const values = [...(check ?? '').matchAll(/'((?:[^']|'')*)'::text/g)].map(([, value]) => `'${value}'`)
  const narrowed = plain === 'string' && values.length > 0 ? values.join(' | ') : plain
  return nullable ? `${narrowed} | null` : narrowed
}
