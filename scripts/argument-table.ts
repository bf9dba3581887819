/** One exported function in the table of a package. */
export interface ArgumentRow {
  /** Of the arguments, in their order. */
  readonly names: readonly string[]
  /** Good arguments with every option, made anew for each call. */
  readonly good: () => readonly unknown[]
  /** Makes the call, and waits until the arguments have been used. Throws, or rejects, as the function does. */
  readonly call: (...given: never[]) => unknown
  /**
   * The kinds of value that a place takes, by its path, where they are others than the kind of the good value. Every
   * kind that is listed must be taken, and no other may be.
   */
  readonly takes?: Readonly<Record<string, readonly Kind[]>>
  /** Places whose values are not taken apart: models, clocks, data that others check. */
  readonly whole?: readonly string[]
  /** Objects that may have fields of any name. */
  readonly open?: readonly string[]
  /** Data that is read leniently: what is refused in it must be refused by the path of the data. */
  readonly data?: readonly string[]
  /** Objects whose fields must have a value: undefined is refused. */
  readonly records?: readonly string[]
}

const kinds = {
  null: () => null,
  true: () => true,
  number: () => 7,
  negative: () => -1,
  NaN: () => Number.NaN,
  fraction: () => 1.5,
  empty: () => '',
  text: () => 'x',
  list: () => [],
  object: () => ({}),
  function: () => () => undefined,
  date: () => new Date(0),
  map: () => new Map(),
  symbol: () => Symbol('x'),
  bigint: () => 7n,
  promise: () => Promise.resolve(),
} satisfies Record<string, () => unknown>

export type Kind = keyof typeof kinds

type Path = readonly (string | number)[]
type Outcome = { readonly taken: true } | { readonly taken: false; readonly error: unknown }

export interface TableOptions {
  /** Whether it is the error that the package throws for a mistake of its caller. */
  readonly isRefusal: (error: unknown) => error is Error
}

/** What is wrong with the checks of one function: nothing, when every value is taken or refused as the row says. */
export async function argumentProblems(row: ArgumentRow, options: TableOptions): Promise<readonly string[]> {
  const first = await outcomeOf(row, row.good())
  if (!first.taken) return [`the good call is refused: ${String(first.error)}`]
  const problems: string[] = []
  for (const path of pathsOf(row)) {
    problems.push(...(await kindProblems(row, path, options)))
    const value = at(row.good(), path)
    const text = pathText(row, path)
    if (!isPlain(value) || row.whole?.includes(text) === true || isData(row, text)) continue
    if (row.open?.includes(text) !== true) problems.push(...(await unknownOptionProblems(row, path, options)))
    const isRecord = row.records?.includes(text) === true
    for (const key of isRecord ? [] : Object.keys(value)) problems.push(...(await absenceProblems(row, [...path, key])))
  }
  return problems
}

async function kindProblems(row: ArgumentRow, path: Path, { isRefusal }: TableOptions): Promise<readonly string[]> {
  const text = pathText(row, path)
  const takes = row.takes?.[text]
  const own = kindOf(at(row.good(), path))
  const shown = shownPath(row, path)
  const wrong: string[] = []
  for (const kind of Object.keys(kinds) as Kind[]) {
    const outcome = await outcomeOf(row, replaced(row.good(), path, kinds[kind]()))
    // What is empty may lack what must be given.
    const mayBeEither = isData(row, text) || (takes === undefined && kind === own && (kind === 'object' || kind === 'list'))
    const isExpected = (takes ?? [own]).includes(kind)
    if (outcome.taken) {
      if (!isExpected && !mayBeEither) wrong.push(`${kind} is taken`)
    } else if (!isRefusal(outcome.error)) wrong.push(`${kind} gives a bare ${String(outcome.error)}`)
    else if (isExpected && !mayBeEither) wrong.push(`${kind} is refused (${outcome.error.message})`)
    else if (!mayBeEither && !outcome.error.message.includes(shown)) wrong.push(`${kind} is refused without ${shown} (${outcome.error.message})`)
  }
  return wrong.length === 0 ? [] : [`${text}: ${wrong.join(', ')}`]
}

async function unknownOptionProblems(row: ArgumentRow, path: Path, { isRefusal }: TableOptions): Promise<readonly string[]> {
  const outcome = await outcomeOf(row, replaced(row.good(), [...path, 'unknownOption'], 7))
  if (outcome.taken) return [`${pathText(row, path)}: an unknown option is taken`]
  const isNamed = isRefusal(outcome.error) && outcome.error.message.includes('unknownOption')
  return isNamed ? [] : [`${pathText(row, path)}: an unknown option is not named (${String(outcome.error)})`]
}

/** Undefined must be as absent. */
async function absenceProblems(row: ArgumentRow, path: Path): Promise<readonly string[]> {
  const [left, empty] = [await outcomeOf(row, without(row.good(), path)), await outcomeOf(row, replaced(row.good(), path, undefined))]
  return left.taken === empty.taken ? [] : [`${pathText(row, path)}: undefined is not as absent (${said(empty)}; ${said(left)})`]
}

/** The names of exports that have no row, and of rows that are no export. */
export function unlistedNames(exported: readonly string[], listed: readonly string[]): readonly string[] {
  return [...exported.filter((name) => !listed.includes(name)), ...listed.filter((name) => !exported.includes(name))]
}

async function outcomeOf(row: ArgumentRow, given: readonly unknown[]): Promise<Outcome> {
  try {
    await row.call(...(given as never[]))
    return { taken: true }
  } catch (error) {
    return { taken: false, error }
  }
}

function said(outcome: Outcome): string {
  return outcome.taken ? 'taken' : String(outcome.error)
}

/** Every argument, and every place in it. */
function pathsOf(row: ArgumentRow): readonly Path[] {
  const below = (value: unknown, path: Path): Path[] => {
    if (row.whole?.includes(pathText(row, path)) === true || (!isPlain(value) && !Array.isArray(value))) return [path]
    const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value)
    return [path, ...keys.flatMap((key) => below((value as Record<string | number, unknown>)[key], [...path, key]))]
  }
  return row.good().flatMap((argument, index) => below(argument, [index]))
}

function isData({ data = [] }: ArgumentRow, path: string): boolean {
  return data.some((one) => path === one || path.startsWith(`${one}[`) || path.startsWith(`${one}.`))
}

/** With the name of the argument. */
function pathText({ names }: ArgumentRow, [argument, ...keys]: Path): string {
  return keys.reduce<string>((text, key) => text + keyText(key), names[Number(argument)] ?? String(argument))
}

function keyText(key: string | number): string {
  if (typeof key === 'number') return `[${key}]`
  return /^[\w$-]+$/.test(key) ? `.${key}` : `["${key}"]`
}

/** As errors name it: of an option its own path, of an argument its name. */
function shownPath(row: ArgumentRow, path: Path): string {
  const [, first, ...keys] = path
  return first === undefined ? pathText(row, path) : keys.reduce<string>((text, key) => text + keyText(key), typeof first === 'number' ? `[${first}]` : first)
}

function kindOf(value: unknown): Kind {
  if (Array.isArray(value)) return 'list'
  if (value === '') return 'empty'
  switch (typeof value) {
    case 'string':
      return 'text'
    case 'boolean':
      return 'true'
    case 'number':
      return 'number'
    case 'function':
      return 'function'
    default:
      return 'object'
  }
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

function at(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<string | number, unknown>)[key], value)
}

function replaced(given: readonly unknown[], path: Path, value: unknown): readonly unknown[] {
  return changed(given, path, () => value) as readonly unknown[]
}

const absent = Symbol('absent')

function without(given: readonly unknown[], path: Path): readonly unknown[] {
  return changed(given, path, () => absent) as readonly unknown[]
}

/** A copy with another value at the path; what is not on the way stays the same object. */
function changed(value: unknown, [key, ...rest]: Path, change: () => unknown): unknown {
  if (key === undefined) return change()
  const inner = changed((value as Record<string | number, unknown>)[key], rest, change)
  if (Array.isArray(value)) return value.with(Number(key), inner)
  const copy: Record<string | number, unknown> = { ...(value as object), [key]: inner }
  if (inner === absent) delete copy[key]
  return copy
}
