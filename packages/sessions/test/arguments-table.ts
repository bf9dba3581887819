/** What an argument or an option takes, and what it must refuse. */
export interface Kind {
  readonly good: unknown
  readonly accepts: (value: unknown) => boolean
  /** It must be there. */
  readonly needed?: true
}

/** An argument: one value, or options by their names. */
export type Shape = Kind | { readonly options: Readonly<Record<string, Shape>>; readonly mayBeAbsent: boolean; readonly or: (value: unknown) => boolean }

export interface Row {
  /** Names and shapes of the arguments, in order. */
  readonly args: readonly (readonly [name: string, shape: Shape])[]
  /** How errors name the function. Default: the name of the row. */
  readonly place?: string
  /** Calls it. What it returns is awaited. */
  readonly call: (...args: readonly never[]) => unknown
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
const isWhole = (least: number, most: number) => (value: unknown) => Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most
const isText = (value: unknown): value is string => typeof value === 'string'

export const text: Kind = { good: 'a text', accepts: isText }
export const someText = (good = 'a-name'): Kind => ({ good, accepts: (value) => isText(value) && value !== '' })
export const whole = (least = 0, good = Math.max(least, 1), most = Number.MAX_SAFE_INTEGER): Kind => ({ good, accepts: isWhole(least, most) })
/** Milliseconds: a time, or how long something takes. */
export const ms = (least = 0, good = Math.max(least, 1)): Kind => whole(least, good, 4_000_000_000_000_000)
export const number = (least: number, most = Infinity): Kind => ({ good: least, accepts: (value) => Number.isFinite(value) && Number(value) >= least && Number(value) <= most })
export const needed = (kind: Kind): Kind => ({ ...kind, needed: true })
export const boolean: Kind = { good: false, accepts: (value) => typeof value === 'boolean' }
export const oneOf = (...names: readonly unknown[]): Kind => ({ good: names[0], accepts: (value) => names.includes(value) })
export const func = (good: unknown = () => undefined): Kind => ({ good, accepts: (value) => typeof value === 'function' })
export const object = (good: unknown): Kind => ({ good, accepts: isObject })
/** An object that needs methods of its own. */
export const made = (good: unknown): Kind => ({ good, accepts: (value) => value === good })
export const list = (good: readonly unknown[], accepts: (item: unknown) => boolean): Kind => ({ good, accepts: (value) => Array.isArray(value) && value.every(accepts) })
export const names: Kind = list(['a-name'], (item) => isText(item) && item !== '')
export const orNull = (kind: Kind): Kind => ({ good: kind.good, accepts: (value) => value === null || kind.accepts(value) })
export const json: Kind = { good: { any: ['JSON'] }, accepts: isJson }
export const jsonObject: Kind = { good: { any: 'JSON' }, accepts: (value) => isObject(value) && isJson(value) }
export const anything: Kind = { good: 'anything', accepts: () => true }
/** `or`: what is taken in the place of options. */
export const options = (shapes: Readonly<Record<string, Shape>>, mayBeAbsent = true, or: (value: unknown) => boolean = () => false): Shape => ({ options: shapes, mayBeAbsent, or })

function isJson(value: unknown): boolean {
  if (value === null || isText(value) || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (Array.isArray(value)) return Array.from(value as unknown[]).every(isJson)
  if (typeof value !== 'object') return false
  // Objects of classes are refused; those without a prototype are taken.
  const prototype: unknown = Object.getPrototypeOf(value)
  return (prototype === null || prototype === Object.prototype) && Object.values(value).every((item) => item === undefined || isJson(item))
}

/** Values of every kind. */
export const values: readonly unknown[] = [
  ...[null, Number.NaN, Infinity, -1, 0, 1.5, 5, '', 'nope', '3', true, false, 10n, Symbol('odd')],
  ...[[], [5], [null], ['nope'], {}, { nope: 1 }, { then: 1 }, new Date(0), new Map(), /x/, () => 1],
]

/** Where a value can be replaced: the place in the arguments, then the names of options. */
export interface Place {
  readonly path: readonly (string | number)[]
  /** As errors name it. */
  readonly name: string
  readonly kind: Kind
}

export function goodArgs({ args }: Row): unknown[] {
  return args.map(([, shape]) => goodOf(shape))
}

function goodOf(shape: Shape): unknown {
  if (!('options' in shape)) return shape.good
  return Object.fromEntries(Object.entries(shape.options).map(([name, each]) => [name, goodOf(each)]))
}

/** `root` is the name of the function: its options are named below it. */
export function placesOf(root: string, row: Row): readonly Place[] {
  return row.args.flatMap(([name, shape], index) => {
    // Options and the only argument are named by the function itself.
    return below(name === '' ? root : `${root}.${name}`, shape, [index])
  })
}

function below(name: string, shape: Shape, path: Place['path']): readonly Place[] {
  if (!('options' in shape)) return [{ path, name, kind: shape }]
  const known = Object.keys(shape.options)
  const accepts = (value: unknown): boolean => (value === undefined && shape.mayBeAbsent) || shape.or(value) || (isObject(value) && Object.keys(value as object).every((key) => known.includes(key)))
  return [{ path, name, kind: { good: undefined, accepts } }, ...Object.entries(shape.options).flatMap(([key, each]) => below(`${name}.${key}`, each, [...path, key]))]
}

/** The arguments with another value in one place. */
export function replaced(args: readonly unknown[], [first = 0, ...rest]: Place['path'], value: unknown): readonly unknown[] {
  return args.map((arg, index) => (index === first ? within(arg, rest, value) : arg))
}

function within(target: unknown, [first, ...rest]: Place['path'], value: unknown): unknown {
  return first === undefined ? value : { ...(target as object), [first]: within(Reflect.get(target as object, first), rest, value) }
}
