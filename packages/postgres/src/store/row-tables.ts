import type { RowDialect } from '@bowline/sessions/sql'
import { createRowTables } from '@bowline/sessions/sql'

/**
 * Storage settings of tables whose rows change often: vacuum starts when a fiftieth of the rows is dead, and each page has room for
 * new versions of its rows.
 */
export const changing =
  ' with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.05)'
const changingTables: ReadonlySet<string> = new Set(['session', 'run', 'lease', 'call', 'notice'])

const sqlTypes = { text: 'text', number: 'bigint' }

/** Refused statements violate a constraint. */
export function postgresRowDialect(schema: string): RowDialect {
  const orRefuse = `select case when not exists (select from found) then "${schema}".refuse() end`
  return {
    schema: `"${schema}".`,
    types: { text: 'text collate "C"', number: 'bigint' },
    settingsOf: (table) => (changingTables.has(table) ? changing : ''),
    slot: (n) => `$${n}`,
    address: 'ctid',
    negated: (column) => `(-${column})`,
    joinOne: (table, where) => `cross join lateral (select ctid, * from ${table} as own where ${where} limit 1) as own`,
    using: () => '',
    // Plans stay the same however the tables grow. No namespace contains this character.
    onlyIn: (index) => [`"namespace" <> '#${index.slice(1, -1)}'`],
    isOneOf: (value, list, type) => `${value} = any(cast(${list} as ${sqlTypes[type]}[]))`,
    // With a limit, the server looks up each row, also if the plan is older than the rows.
    each: (list, type, { select, table, where, column }) =>
      `select ${select} from unnest(cast(${list} as ${sqlTypes[type]}[])) as given (value) cross join lateral (select * from ${table} where ${where} and ${column} = given.value limit 1) as own`,
    startsWith: (value, prefix) => `starts_with(${value}, ${prefix})`,
    insertOnce: (insert) => insert,
    mustChange: (update) => `with found as (${update} returning 1) ${orRefuse}`,
    mustFind: (query) => `with found as (${query} for share) ${orRefuse}`,
  }
}

/** Returns the statements that create the tables of rows. */
export function createTables(schema: string): readonly string[] {
  const refuse = `create function "${schema}".refuse() returns void language plpgsql as $$
begin
  raise exception 'a condition of a write does not hold' using errcode = 'integrity_constraint_violation';
end $$`
  const meta = `create table "${schema}".meta (name text primary key, value text)`
  return [meta, refuse, ...createRowTables(postgresRowDialect(schema))]
}
