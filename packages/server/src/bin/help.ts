import { groups, type Setting } from '../config/setting.ts'
import { flagOf, settingKeys, settings } from '../config/settings.ts'
import type { Command } from './command.ts'

/** Returns the output of `bowline-server --help`. */
export function overview(commands: readonly Command[]): string {
  const rows = commands.map(({ name, about }) => [name, about] as const)
  return [
    'Serves agents over HTTP and SSE.',
    '',
    'Usage: bowline-server [command]',
    '',
    ...columns(rows),
    '',
    'Without a command it starts. bowline-server <command> --help tells more, of start every flag.',
    '',
    '  bowline-server --agents ./agents.ts --auth none',
  ].join('\n')
}

/** Returns the output of `bowline-server <command> --help`. */
export function helpOf(command: Command): string {
  const own = Object.entries(command.flags).map(
    ([name, { placeholder, about }]) => [flagAndValue(`--${name}`, placeholder), about] as const,
  )
  return [
    `${command.about}.`,
    '',
    `Usage: bowline-server ${command.usage}`,
    ...(own.length > 0 ? ['', ...columns(own)] : []),
    ...(command.takesSettings ? settingsHelp() : []),
  ].join('\n')
}

function settingsHelp(): readonly string[] {
  const rows = settingKeys.map((key) => {
    const { placeholder, about, default: value, group }: Setting = settings[key]
    return { group, row: [flagAndValue(flagOf(key), placeholder), `${about}${defaultOf(value)}`] as const }
  })
  const width = Math.max(...rows.map(({ row }) => row[0].length))
  const section = (group: string) => [
    '',
    group,
    ...columns(
      rows.filter((each) => each.group === group).map(({ row }) => row),
      width,
    ),
  ]
  return [
    ...groups.flatMap(section),
    '',
    'Each flag has a variable (--limits.body-bytes: BOWLINE_LIMITS_BODY_BYTES) and a key in the file',
    '(limits.bodyBytes). A flag wins over a variable, a variable over the file. Times are milliseconds.',
  ]
}

function flagAndValue(flag: string, placeholder: string | undefined): string {
  return placeholder === undefined ? flag : `${flag} ${placeholder}`
}

function defaultOf(value: Setting['default']): string {
  const text = value === false ? '' : textOf(value)
  return text === '' ? '' : ` (${text})`
}

/** Returns a configuration value as a person writes it. */
export function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}

/** Formats rows with aligned columns. */
export function columns(rows: readonly (readonly string[])[], firstWidth = 0): readonly string[] {
  const widths = (rows[0] ?? []).map((_cell, index) =>
    Math.max(index === 0 ? firstWidth : 0, ...rows.map((row) => row[index]?.length ?? 0)),
  )
  return rows.map((row) => `  ${row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('  ')}`.trimEnd())
}
