import { parseArgs } from 'node:util'
import { suggestion } from '@bowline/llm/arguments'
import type { Fault } from './config-error.ts'
import { readTexts, type Reading } from './given.ts'
import type { Setting } from './setting.ts'
import { flagName, settingKeys, settings, type SettingKey } from './settings.ts'

/** Flag that is not a configuration key. */
export interface ExtraFlag {
  readonly type: 'string' | 'boolean'
  readonly short?: string
}

export interface Flags<Extra extends string> extends Reading {
  readonly positionals: readonly string[]
  readonly extra: Readonly<Partial<Record<Extra, string>>>
}

type Token = NonNullable<ReturnType<typeof parseArgs>['tokens']>[number]
type OptionToken = Extract<Token, { kind: 'option' }>

const keysByFlag: ReadonlyMap<string, SettingKey> = new Map(settingKeys.map((key) => [flagName(key), key]))

/** Reads the flags of all keys and of `extra`. With `settings: false`, reads only those of `extra`. */
export function readFlags<Extra extends string>(
  argv: readonly string[],
  extra: Readonly<Record<Extra, ExtraFlag>>,
  options: { readonly base: string; readonly settings?: boolean },
): Flags<Extra> {
  const keys = options.settings === false ? new Map<string, SettingKey>() : keysByFlag
  const types = new Map<string, ExtraFlag>([
    ...[...keys].map(([name, key]) => [name, { type: isToggle(settings[key]) ? 'boolean' : 'string' }] as const),
    ...Object.entries<ExtraFlag>(extra),
  ])
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(types),
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const faults: Fault[] = []
  const texts = new Map<SettingKey, { key: SettingKey; text: string; origin: string }>()
  const others: Partial<Record<string, string>> = {}
  for (const token of tokens.filter((each) => each.kind === 'option')) {
    const fault = faultOf(token, types)
    const key = keys.get(token.name)
    if (fault) faults.push(fault)
    else if (key) texts.set(key, { key, text: textOf(key, token.value, texts.get(key)?.text), origin: token.rawName })
    else others[token.name] = token.value ?? 'true'
  }
  const reading = readTexts([...texts.values()], options.base)
  return {
    given: reading.given,
    faults: [...faults, ...reading.faults],
    positionals: positionalsOf(tokens, types),
    extra: others as Flags<Extra>['extra'],
  }
}

/** Returns the positional words, without words that may be values of unknown flags. */
function positionalsOf(tokens: readonly Token[], types: ReadonlyMap<string, ExtraFlag>): readonly string[] {
  const unknown = new Set(tokens.flatMap((token) => (token.kind === 'option' && !types.has(token.name) ? [token.index] : [])))
  return tokens.flatMap((token) => (token.kind === 'positional' && !unknown.has(token.index - 1) ? [token.value] : []))
}

/** Returns the text of a flag. A repeated flag extends a list; for other keys the last flag counts. */
function textOf(key: SettingKey, value = 'true', before?: string): string {
  const { repeats }: Setting = settings[key]
  return repeats && before !== undefined ? `${before},${value}` : value
}

function isToggle({ placeholder }: Setting): boolean {
  return placeholder === undefined
}

function faultOf({ name, rawName, value, inlineValue }: OptionToken, types: ReadonlyMap<string, ExtraFlag>): Fault | undefined {
  const type = types.get(name)?.type
  if (type === undefined) {
    const flags = [...types.keys()].map((each) => `--${each}`)
    return { path: rawName, message: `there is no such flag${suggestion(rawName, flags)}` }
  }
  // The next flag is not a value: in `--port --host` the value is missing.
  if (type === 'string' && (value === undefined || (!inlineValue && value.startsWith('--')))) {
    return { path: rawName, message: 'needs a value' }
  }
  return undefined
}
