import { inspect } from 'node:util'

/** Exported function in the argument table of a package. */
export interface ArgumentRow {
  /** Names of the arguments, in order. */
  readonly names: readonly string[]
  /** Returns valid arguments with every option, new for each call. */
  readonly good: () => readonly unknown[]
  /** Calls the function and waits until the arguments have been used. Throws or rejects like the function. */
  readonly call: (...given: never[]) => unknown
  /** Accepted kinds by path, if they differ from the kind of the good value. */
  readonly takes?: Readonly<Record<string, Takes>>
  /** Paths whose values are not varied inside: models, clocks, and data with checks elsewhere. */
  readonly whole?: readonly string[]
  /** Objects that may have fields of any name. */
  readonly open?: readonly string[]
  /** Data that is read leniently: a refusal inside it must name the path of the data. */
  readonly data?: readonly string[]
  /** Objects whose fields must have a value: undefined is refused. */
  readonly records?: readonly string[]
  /** Returns the place that errors name for a path. Default: an option by its own path, an argument by its name. */
  readonly shown?: (path: string) => string
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

/** Kinds of values: each of them must be accepted, and no other. Or a predicate of the accepted values. */
export type Takes = readonly Kind[] | TakesValue

type TakesValue = (value: unknown) => boolean

/** Tried in addition to the kinds if a predicate defines the accepted values. */
const oddValues: readonly unknown[] = [undefined, Infinity, 0, 5, '3', 'nope', false, [5], [null], ['nope'], { nope: 1 }, { then: 1 }, /x/]

type Path = readonly (string | number)[]
type Outcome = { readonly taken: true } | { readonly taken: false; readonly error: unknown }

export interface TableOptions {
  /** Returns true for the error that the package throws for a mistake of the caller. */
  readonly isRefusal: (error: unknown) => error is Error
  /** Returns true for an error after the arguments were accepted, such as an unknown id. Default: no error is. */
  readonly isTaken?: (error: unknown) => boolean
}

/** Returns the faults in the checks of one function. Empty if every value is accepted or refused as the row says. */
export async function argumentProblems(row: ArgumentRow, options: TableOptions): Promise<readonly string[]> {
  const problems = await takenProblems(row, options)
  return problems.some((one) => one.startsWith(goodRefused)) ? problems : [...problems, ...(await refusedProblems(row, options))]
}

const goodRefused = 'the good call is refused'

/** First half of `argumentProblems`: calls that must be accepted. They may write. */
export async function takenProblems(row: ArgumentRow, options: TableOptions): Promise<readonly string[]> {
  const first = await outcomeOf(row, row.good(), options)
  if (!first.taken) return [`${goodRefused}: ${String(first.error)}`]
  const problems: string[] = []
  for (const path of pathsOf(row)) {
    problems.push(...(await takenKindProblems(row, path, options)))
    const value = at(row.good(), path)
    const text = pathText(row, path)
    const isRecord = row.records?.includes(text) === true
    if (!isTakenApart(row, path) || isRecord) continue
    for (const key of Object.keys(value as object)) problems.push(...(await absenceProblems(row, [...path, key], options)))
  }
  return problems
}

/** Second half of `argumentProblems`: calls that must be refused. They must not write. */
export async function refusedProblems(row: ArgumentRow, options: TableOptions): Promise<readonly string[]> {
  const problems: string[] = []
  for (const path of pathsOf(row)) {
    problems.push(...(await refusedValueProblems(row, path, options)))
    if (isTakenApart(row, path) && row.open?.includes(pathText(row, path)) !== true)
      problems.push(...(await unknownOptionProblems(row, path, options)))
  }
  return problems
}

/** Path whose accepted values are defined by a predicate. */
export interface TestedPlace {
  readonly path: string
  readonly takes: TakesValue
  /** Returns the fault in the refusal of a value that the path does not accept. */
  readonly refusalProblem: (value: unknown) => Promise<string | undefined>
}

/** Returns the paths of one function that have a predicate, for tests with random values. */
export function testedPlaces(row: ArgumentRow, options: TableOptions): readonly TestedPlace[] {
  return pathsOf(row).flatMap((place) => {
    const path = pathText(row, place)
    const takes = row.takes?.[path]
    return typeof takes === 'function' ? [{ path, takes, refusalProblem: (value) => refusalProblem(row, place, value, options) }] : []
  })
}

function isTakenApart(row: ArgumentRow, path: Path): boolean {
  const text = pathText(row, path)
  return isPlain(at(row.good(), path)) && row.whole?.includes(text) !== true && !isData(row, text)
}

function kindNames(): readonly Kind[] {
  return Object.keys(kinds) as Kind[]
}

/** Returns true if both outcomes are allowed: an empty value may lack required fields. */
function mayBeEither(row: ArgumentRow, path: Path, kind: Kind): boolean {
  const text = pathText(row, path)
  const isOwn = row.takes?.[text] === undefined && kind === kindOf(at(row.good(), path))
  return isData(row, text) || (isOwn && (kind === 'object' || kind === 'list'))
}

async function takenKindProblems(row: ArgumentRow, path: Path, options: TableOptions): Promise<readonly string[]> {
  const takes = row.takes?.[pathText(row, path)] ?? [kindOf(at(row.good(), path))]
  if (typeof takes === 'function') return []
  const wrong: string[] = []
  for (const kind of kindNames()) {
    const isEither = mayBeEither(row, path, kind)
    if (!isEither && !takes.includes(kind)) continue
    const outcome = await outcomeOf(row, replaced(row.good(), path, kinds[kind]()), options)
    if (outcome.taken) continue
    if (!options.isRefusal(outcome.error)) wrong.push(`${kind} gives a bare ${String(outcome.error)}`)
    else if (!isEither) wrong.push(`${kind} is refused (${outcome.error.message})`)
  }
  return wrong.length === 0 ? [] : [`${pathText(row, path)}: ${wrong.join(', ')}`]
}

async function refusedValueProblems(row: ArgumentRow, path: Path, options: TableOptions): Promise<readonly string[]> {
  const takes = row.takes?.[pathText(row, path)] ?? [kindOf(at(row.good(), path))]
  const made = kindNames().map((kind) => ({ kind, value: kinds[kind]() }))
  const refused =
    typeof takes === 'function'
      ? [...made.map(({ value }) => value), ...oddValues].filter((value) => !takes(value))
      : made.filter(({ kind }) => !takes.includes(kind) && !mayBeEither(row, path, kind)).map(({ value }) => value)
  const wrong: string[] = []
  for (const value of refused) {
    const problem = await refusalProblem(row, path, value, options)
    if (problem !== undefined) wrong.push(problem)
  }
  return wrong.length === 0 ? [] : [`${pathText(row, path)}: ${wrong.join(', ')}`]
}

async function refusalProblem(row: ArgumentRow, path: Path, value: unknown, options: TableOptions): Promise<string | undefined> {
  const kind = inspect(value, { depth: 1 })
  const outcome = await outcomeOf(row, replaced(row.good(), path, value), options)
  if (outcome.taken) return `${kind} is taken`
  if (!options.isRefusal(outcome.error)) return `${kind} gives a bare ${String(outcome.error)}`
  const shown = shownPath(row, path)
  return outcome.error.message.includes(shown) ? undefined : `${kind} is refused without ${shown} (${outcome.error.message})`
}

async function unknownOptionProblems(row: ArgumentRow, path: Path, options: TableOptions): Promise<readonly string[]> {
  const outcome = await outcomeOf(row, replaced(row.good(), [...path, 'unknownOption'], 7), options)
  if (outcome.taken) return [`${pathText(row, path)}: an unknown option is taken`]
  const isNamed = options.isRefusal(outcome.error) && outcome.error.message.includes('unknownOption')
  return isNamed ? [] : [`${pathText(row, path)}: an unknown option is not named (${String(outcome.error)})`]
}

/** Checks that undefined has the same effect as an absent value. */
async function absenceProblems(row: ArgumentRow, path: Path, options: TableOptions): Promise<readonly string[]> {
  const [left, empty] = [
    await outcomeOf(row, without(row.good(), path), options),
    await outcomeOf(row, replaced(row.good(), path, undefined), options),
  ]
  const text = pathText(row, path)
  if (left.taken !== empty.taken) return [`${text}: undefined is not as absent (${said(empty)}; ${said(left)})`]
  const takes = row.takes?.[text]
  return typeof takes !== 'function' || takes(undefined) === empty.taken
    ? []
    : [`${text}: undefined is not as the row says (${said(empty)})`]
}

/** Returns the exports without a row, and the rows without an export. */
export function unlistedNames(exported: readonly string[], listed: readonly string[]): readonly string[] {
  return [...exported.filter((name) => !listed.includes(name)), ...listed.filter((name) => !exported.includes(name))]
}

async function outcomeOf(row: ArgumentRow, given: readonly unknown[], { isTaken = () => false }: TableOptions): Promise<Outcome> {
  try {
    await row.call(...(given as never[]))
    return { taken: true }
  } catch (error) {
    return isTaken(error) ? { taken: true } : { taken: false, error }
  }
}

function said(outcome: Outcome): string {
  return outcome.taken ? 'taken' : String(outcome.error)
}

/** Returns the paths of all arguments and of all places in them. */
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

/** Returns a path as text, with the name of the argument. */
function pathText({ names }: ArgumentRow, [argument, ...keys]: Path): string {
  return keys.reduce<string>((text, key) => text + keyText(key), names[Number(argument)] ?? String(argument))
}

function keyText(key: string | number): string {
  if (typeof key === 'number') return `[${key}]`
  return /^[\w$-]+$/.test(key) ? `.${key}` : `["${key}"]`
}

/** Returns a path as errors name it. */
function shownPath(row: ArgumentRow, path: Path): string {
  if (row.shown) return row.shown(pathText(row, path))
  const [, first, ...keys] = path
  return first === undefined
    ? pathText(row, path)
    : keys.reduce<string>((text, key) => text + keyText(key), typeof first === 'number' ? `[${first}]` : first)
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

/** Returns a copy with another value at the path. Values outside the path stay the same objects. */
function changed(value: unknown, [key, ...rest]: Path, change: () => unknown): unknown {
  if (key === undefined) return change()
  const inner = changed((value as Record<string | number, unknown>)[key], rest, change)
  if (Array.isArray(value)) return value.with(Number(key), inner)
  const copy: Record<string | number, unknown> = { ...(value as object), [key]: inner }
  if (inner === absent) delete copy[key]
  return copy
}

/** Accepted values of an argument or option. It must refuse all others. */
export interface ValueShape {
  readonly good: unknown
  readonly accepts: (value: unknown) => boolean
  /** True if it is required. */
  readonly needed?: true
}

/** Shape of an argument: one value, or options by name. */
export type Shape =
  | ValueShape
  | { readonly options: Readonly<Record<string, Shape>>; readonly mayBeAbsent: boolean; readonly or: (value: unknown) => boolean }

/** Row of the table that defines its arguments by shape. */
export interface ShapedRow extends Pick<ArgumentRow, 'shown'> {
  /**
   * Names and shapes of the arguments, in order. An empty name stands for options: it becomes the name of the function with
   * `.options`.
   */
  readonly args: readonly (readonly [name: string, shape: Shape])[]
  /** Name of the function in errors. Default: the name of the row. */
  readonly place?: string
  /** Calls the function. Its result is awaited. */
  readonly call: (...args: readonly never[]) => unknown
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
const isWhole = (least: number, most: number) => (value: unknown) =>
  Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most
const isText = (value: unknown): value is string => typeof value === 'string'

export const text: ValueShape = { good: 'a text', accepts: isText }
export const someText = (good = 'a-name'): ValueShape => ({ good, accepts: (value) => isText(value) && value !== '' })
export const whole = (least = 0, good = Math.max(least, 1), most = Number.MAX_SAFE_INTEGER): ValueShape => ({
  good,
  accepts: isWhole(least, most),
})
/** Returns the shape of a time or duration in milliseconds. */
export const ms = (least = 0, good = Math.max(least, 1)): ValueShape => whole(least, good, 4_000_000_000_000_000)
export const number = (least: number, most = Infinity): ValueShape => ({
  good: least,
  accepts: (value) => Number.isFinite(value) && Number(value) >= least && Number(value) <= most,
})
export const needed = (shape: ValueShape): ValueShape => ({ ...shape, needed: true })
export const boolean: ValueShape = { good: false, accepts: (value) => typeof value === 'boolean' }
export const oneOf = (...names: readonly unknown[]): ValueShape => ({ good: names[0], accepts: (value) => names.includes(value) })
export const func = (good: unknown = () => undefined): ValueShape => ({ good, accepts: (value) => typeof value === 'function' })
export const object = (good: unknown): ValueShape => ({ good, accepts: isObject })
/** Returns the shape of an object that needs its own methods. */
export const made = (good: unknown): ValueShape => ({ good, accepts: (value) => value === good })
export const list = (good: readonly unknown[], accepts: (item: unknown) => boolean): ValueShape => ({
  good,
  accepts: (value) => Array.isArray(value) && value.every(accepts),
})
export const names: ValueShape = list(['a-name'], (item) => isText(item) && item !== '')
export const orNull = (shape: ValueShape): ValueShape => ({ good: shape.good, accepts: (value) => value === null || shape.accepts(value) })
export const json: ValueShape = { good: { any: ['JSON'] }, accepts: isJson }
export const jsonObject: ValueShape = { good: { any: 'JSON' }, accepts: (value) => isObject(value) && isJson(value) }
export const anything: ValueShape = { good: 'anything', accepts: () => true }
/** Returns the shape of options. `or` returns true for values that are accepted instead of them. */
export const options = (
  shapes: Readonly<Record<string, Shape>>,
  mayBeAbsent = true,
  or: (value: unknown) => boolean = () => false,
): Shape => ({ options: shapes, mayBeAbsent, or })

function isJson(value: unknown): boolean {
  if (value === null || isText(value) || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (Array.isArray(value)) return Array.from(value as unknown[]).every(isJson)
  if (typeof value !== 'object') return false
  // Objects of classes are refused. Those without a prototype are accepted.
  const prototype: unknown = Object.getPrototypeOf(value)
  return (prototype === null || prototype === Object.prototype) && Object.values(value).every((item) => item === undefined || isJson(item))
}

/** Returns the row of the function with this name. */
export function rowOf(name: string, { args, place, call, ...others }: ShapedRow): ArgumentRow {
  const root = place ?? name.split('.').at(-1) ?? name
  const named = args.map(([argument, shape]) => [argument === '' ? `${root}.options` : argument, shape] as const)
  const places = named.flatMap(([argument, shape]) => placesOf(argument, shape))
  return {
    ...others,
    names: named.map(([argument]) => argument),
    good: () => args.map(([, shape]) => goodOf(shape)),
    call,
    takes: Object.fromEntries(places.map(({ path, takes }) => [path, takes])),
    whole: places.flatMap(({ path, isWhole }) => (isWhole ? [path] : [])),
  }
}

function goodOf(shape: Shape): unknown {
  if (!('options' in shape)) return shape.good
  return Object.fromEntries(Object.entries(shape.options).map(([name, each]) => [name, goodOf(each)]))
}

interface Place {
  readonly path: string
  readonly takes: (value: unknown) => boolean
  readonly isWhole: boolean
}

/** Returns the path and those of its options. */
function placesOf(path: string, shape: Shape): readonly Place[] {
  if (!('options' in shape)) return [{ path, takes: shape.accepts, isWhole: true }]
  const known = Object.keys(shape.options)
  const takes = (value: unknown): boolean =>
    (value === undefined && shape.mayBeAbsent) ||
    shape.or(value) ||
    (isObject(value) && Object.keys(value as object).every((key) => known.includes(key)))
  const inner = Object.entries(shape.options).flatMap(([key, each]) => placesOf(`${path}.${key}`, optionOf(each)))
  return [{ path, takes, isWhole: false }, ...inner]
}

/** Returns the shape of an option, which may be absent unless it is required. */
function optionOf(shape: Shape): Shape {
  if ('options' in shape || shape.needed) return shape
  return { ...shape, accepts: (value) => value === undefined || shape.accepts(value) }
}
