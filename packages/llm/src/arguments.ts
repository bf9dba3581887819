const maxMistakes = 3
/** Longer names are cut, both in messages and before they are compared. */
const longestShown = 40
const mostListed = 12

/**
 * Checks for the arguments of public functions. A check throws the error that `refuse` creates from one sentence: the path of the
 * argument, what it must be, and the kind of value received. An optional argument that is `undefined` counts as absent.
 */
export type ArgumentChecks = ReturnType<typeof argumentChecks>

/** Throws if the value at this path is not allowed. `undefined` means absent, unless the value is required. */
export type ArgumentCheck = (path: string, value: unknown) => void

/** A check for each field of an options object. A missing check is a compile error. */
export type FieldChecks<Fields> = { readonly [Name in keyof Fields]-?: ArgumentCheck }

/**
 * Creates checks for the arguments of a public function. A check throws `refuse(message)` if a value is not allowed; the message
 * names the argument by its path, what it must be, and what was received.
 */
export function argumentChecks(refuse: (message: string) => Error) {
  function must(path: string, wanted: string, value: unknown): never {
    throw refuse(`${path} must be ${wanted}; received ${describeValue(value)}`)
  }
  /** Refuses any value except `undefined` for which `holds` returns false. */
  function optional(path: string, value: unknown, wanted: string, holds: (value: unknown) => boolean): void {
    if (value !== undefined && !holds(value)) must(path, wanted, value)
  }
  const optionalOf =
    (wanted: string, holds: (value: unknown) => boolean): ArgumentCheck =>
    (path, value) =>
      optional(path, value, wanted, holds)
  /** Refuses a value that is not an object, or its first unknown key. The error suggests the most similar known key. */
  function checkKeys(path: string, value: unknown, known: readonly string[]): void {
    if (!isFields(value)) must(path, 'an object', value)
    const unknown = Object.keys(value).find((key) => !known.includes(key))
    if (unknown !== undefined) throw refuse(`${path} has no option "${shortened(unknown)}"${knownNames(unknown, known)}`)
  }
  function checkOneOf(path: string, value: unknown, allowed: readonly unknown[]): void {
    if (value === undefined || allowed.includes(value)) return
    const received = typeof value === 'string' ? `"${shortened(value)}"${suggestion(value, allowed.map(String))}` : describeValue(value)
    throw refuse(`${path} must be one of ${allowed.join(', ')}; received ${received}`)
  }
  const checkObject = optionalOf('an object', isFields)
  /** Requires an object with any field names, all of whose values pass the check. */
  function checkValues(path: string, value: unknown, check: ArgumentCheck): void {
    checkObject(path, value)
    for (const [name, field] of Object.entries(value ?? {})) check(`${path}.${name}`, field)
  }
  return {
    checkKeys,
    checkOneOf,
    /**
     * Refuses an object with an unknown field or with a field that its check refuses. An option of `options` is named by its own
     * path.
     */
    checkFields: <Fields>(path: string, value: unknown, checks: FieldChecks<Fields>): void => {
      if (value === undefined) return
      checkKeys(path, value, Object.keys(checks))
      for (const [name, check] of Object.entries<ArgumentCheck>(checks))
        check(optionPath(path, name), (value as Readonly<Record<string, unknown>>)[name])
    },
    checkValues,
    /** Requires a list, all of whose items pass the check. */
    checkItems: (path: string, value: unknown, check: ArgumentCheck): void => {
      optional(path, value, 'a list', Array.isArray)
      for (const [place, item] of Array.from((value ?? []) as readonly unknown[]).entries()) check(`${path}[${place}]`, item)
    },
    /** Requires a whole number from `least` (0 or more): counts, sizes, and times in milliseconds. */
    checkWhole: (path: string, value: unknown, least: number, most = Number.MAX_SAFE_INTEGER): void => {
      const end = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`
      optional(
        path,
        value,
        `a whole number from ${least}${end}`,
        (given) => Number.isSafeInteger(given) && Number(given) >= least && Number(given) <= most,
      )
    },
    /** Requires a finite number of at least `least`. */
    checkNumber: (path: string, value: unknown, least: number): void => {
      optional(path, value, `a number from ${least}`, (given) => Number.isFinite(given) && Number(given) >= least)
    },
    checkBoolean: optionalOf('true or false', (given) => typeof given === 'boolean'),
    checkText: optionalOf('a text', isText),
    /** Requires a text with at least one character. */
    checkName: (path: string, value: unknown): void => {
      if (typeof value !== 'string' || value === '') must(path, 'a text with at least one character', value)
    },
    checkList: optionalOf('a list', Array.isArray),
    checkObject,
    checkFunction: optionalOf('a function', (given) => typeof given === 'function'),
    /** Requires an object with all these methods, such as a store, a journal or a clock. */
    checkMethods: (path: string, value: unknown, methods: readonly string[]): void => {
      optional(
        path,
        value,
        `an object with ${methods.join(' and ')}`,
        (given) => isRecord(given) && methods.every((name) => typeof given[name] === 'function'),
      )
    },
    checkSignal: optionalOf(
      'an AbortSignal',
      (given) => isRecord(given) && 'aborted' in given && typeof given['addEventListener'] === 'function',
    ),
    /** Requires a text or file part of a message or of a tool's output. Unknown fields are allowed. */
    checkContentPart: (path: string, value: unknown): void => {
      const part = isRecord(value) ? value : must(path, 'a text or file part', value)
      const field = (name: string, wanted: string, holds: (given: unknown) => boolean): void => {
        if (!holds(part[name])) must(`${path}.${name}`, wanted, part[name])
      }
      if (part['type'] === 'text') field('text', 'a text', isText)
      else {
        checkOneOf(`${path}.type`, needed(part['type']), ['text', 'file'])
        field('mediaType', 'a text', isText)
        field('data', "{ type: 'data', data: a text in base64 } or { type: 'url', url: a text }", isFileData)
        field('filename', 'a text', (given) => given === undefined || isText(given))
      }
      checkValues(`${path}.providerOptions`, part['providerOptions'], checkObject)
    },
    /** Refuses a value, including `undefined`, for which `holds` returns false. */
    checkRequired: (path: string, value: unknown, wanted: string, holds: (value: unknown) => boolean): void => {
      if (!holds(value)) must(path, wanted, value)
    },
  }
}

/** Returns the same checks, and functions that create checks for a table of fields. */
export function fieldChecks(refuse: (message: string) => Error) {
  const checks = argumentChecks(refuse)
  const optional =
    (check: ArgumentCheck): ArgumentCheck =>
    (path, value) => {
      if (value !== undefined) check(path, value)
    }
  const required =
    (check: ArgumentCheck): ArgumentCheck =>
    (path, value) =>
      check(path, needed(value))
  const optionalRecord =
    <Fields>(fields: FieldChecks<Fields>): ArgumentCheck =>
    (path, value) =>
      checks.checkFields(path, value, fields)
  const listOf =
    (check: ArgumentCheck): ArgumentCheck =>
    (path, value) =>
      checks.checkItems(path, value, check)
  const methods =
    (...names: readonly string[]): ArgumentCheck =>
    (path, value) =>
      checks.checkMethods(path, value, names)
  return {
    ...checks,
    /** Returns a check that also accepts `undefined`. */
    optional,
    /** Returns a check that also refuses `undefined`. */
    required,
    whole:
      (least: number, most?: number): ArgumentCheck =>
      (path, value) =>
        checks.checkWhole(path, value, least, most),
    number:
      (least: number): ArgumentCheck =>
      (path, value) =>
        checks.checkNumber(path, value, least),
    oneOf:
      (...allowed: readonly (string | boolean)[]): ArgumentCheck =>
      (path, value) =>
        checks.checkOneOf(path, value, allowed),
    optionalName: optional(checks.checkName),
    methods,
    requiredFunction: required(checks.checkFunction),
    requiredMethods: (...names: readonly string[]): ArgumentCheck => required(methods(...names)),
    listOf,
    requiredList: (check: ArgumentCheck): ArgumentCheck => required(listOf(check)),
    valuesOf:
      (check: ArgumentCheck): ArgumentCheck =>
      (path, value) =>
        checks.checkValues(path, value, check),
    /** Requires an object with these fields and no others. */
    record: <Fields>(fields: FieldChecks<Fields>): ArgumentCheck => required(optionalRecord(fields)),
    optionalRecord,
  }
}

/** Returns the path of a field for an error message. For an option of a function, returns its name alone, without `send.options`. */
export function optionPath(path: string, name: string): string {
  return /(^|\.)options$/.test(path) ? name : `${path}.${name}`
}

const absent = Symbol('undefined')

/** Replaces `undefined` by a marker, so that a check of an optional value refuses it. */
export function needed(value: unknown): unknown {
  return value === undefined ? absent : value
}

/** Returns the kind of a value for an error message. Shows numbers, but never a text, which may be a key or part of a conversation. */
export function describeValue(value: unknown): string {
  if (value === absent) return 'undefined'
  if (value === null || value === undefined || typeof value === 'boolean' || typeof value === 'number') return String(value)
  if (typeof value === 'string')
    return value === '' ? 'an empty text' : `a text of ${value.length} character${value.length === 1 ? '' : 's'}`
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value !== 'object') return `a ${typeof value}`
  if (typeof (value as { then?: unknown }).then === 'function') return 'a promise: await it first'
  const name = (Object.getPrototypeOf(value) as { readonly constructor?: { readonly name?: unknown } } | null)?.constructor?.name
  return typeof name === 'string' && name !== '' && name !== 'Object' ? `an instance of ${shortened(name)}` : 'an object'
}

/** Returns the known name that was probably meant: at most one mistake per `charactersPerMistake` characters, and three in total. */
export function closest(name: string, known: readonly string[], charactersPerMistake = 2): string | undefined {
  const near = known
    .map((candidate) => ({ candidate, away: distance(plain(name), plain(candidate)) }))
    .filter(({ away, candidate }) => away <= Math.min(maxMistakes, plain(candidate).length / charactersPerMistake))
  return near.sort((left, right) => left.away - right.away)[0]?.candidate
}

/** Returns the edit distance: the number of characters to add, remove or replace. */
function distance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let at = 0; at < left.length; at++) {
    const next = [at + 1]
    for (let to = 0; to < right.length; to++) {
      const replaced = (row[to] ?? 0) + (left[at] === right[to] ? 0 : 1)
      next.push(Math.min(replaced, (row[to + 1] ?? 0) + 1, (next[to] ?? 0) + 1))
    }
    row = next
  }
  return row[right.length] ?? 0
}

/** Returns a suggestion to append to an error message, such as `; did you mean port?`, or an empty text. */
export function suggestion(name: string, known: readonly string[]): string {
  const meant = closest(shortened(name), known)
  return meant === undefined ? '' : `; did you mean ${meant}?`
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function isFileData(data: unknown): boolean {
  if (!isRecord(data)) return false
  return data['type'] === 'data' ? isText(data['data']) : data['type'] === 'url' && isText(data['url'])
}

/** Returns the suggestion for an unknown name, else the known names if they are few. A long list would hide the right one. */
export function knownNames(name: string, known: readonly string[]): string {
  const listed = known.length > 0 && known.length <= mostListed ? `; known are ${known.join(', ')}` : ''
  return suggestion(name, known) || listed
}

/** Returns whether a value is an object and not a list. Maps and dates count. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns whether a value carries the mark. Never throws, although reading a thrown value may throw, for example for a proxy. */
export function isMarked(value: unknown, mark: symbol): boolean {
  try {
    return typeof value === 'object' && value !== null && mark in value
  } catch {
    return false
  }
}

type PackageVersion = { readonly name: string; readonly version: string }

/**
 * Returns the fields that mark an object as made by this version of a package. `versionCheck` reads them. A copy of the object by
 * spreading keeps them.
 */
export function versionMark({ name, version }: PackageVersion): object {
  return { [versionKey(name)]: version }
}

/**
 * Creates a check that refuses objects that another minor version of the package has made: an app may have several copies of a
 * package. Objects without a mark are accepted.
 */
export function versionCheck({ name, version }: PackageVersion, refuse: (message: string) => Error): ArgumentCheck {
  return (path, value) => {
    const other: unknown = isRecord(value) ? Reflect.get(value, versionKey(name)) : undefined
    if (typeof other === 'string' && minorOf(other) !== minorOf(version))
      throw refuse(
        `${path} was made with ${name} ${other}, but ${name} ${version} is used here; install one version (npm ls ${name} shows where they come from)`,
      )
  }
}

/** Made by `Symbol.for`, so that all copies of a package have the same key. */
function versionKey(name: string): symbol {
  return Symbol.for(`${name} version`)
}

function minorOf(version: string): string {
  return version.split('.', 2).join('.')
}

/** Returns the fields that are not `undefined`, so that they do not override defaults. */
export function definedFields<Fields extends object>(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields
}

/** Returns whether a value is an object with fields of its own: not a list, promise, map or date. */
export function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return isRecord(value) && Object.prototype.toString.call(value) === '[object Object]' && typeof value['then'] !== 'function'
}

/** Removes case and separators, the most frequent mistakes. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
}

/** Cuts a long name for an error message. */
export function shortened(name: string): string {
  return name.length <= longestShown ? name : `${name.slice(0, longestShown)}…`
}

/**
 * Returns a handler of a failed import. If the package is not installed, it throws what `refuse` makes of "needs the package …" with
 * the command that installs it. It throws any other error unchanged.
 */
export function missingPackage(
  name: string,
  refuse: (message: string, cause: unknown) => Error,
  install = name,
): (error: unknown) => never {
  return (error) => {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND'
    throw isMissing ? refuse(`needs the package ${name}; run: npm install ${install}`, error) : error
  }
}

/** An image of an input, in the form of the AI SDK. */
interface Image {
  readonly type: 'image'
  readonly image: string
  readonly mediaType?: string
}

/** The image in the form in which inputs are stored. */
interface ImageFile {
  readonly type: 'file'
  readonly mediaType: string
  readonly data: { readonly type: 'data'; readonly data: string } | { readonly type: 'url'; readonly url: string }
}

const imageForm = /^(?:https?:\/\/.*|(?:data:image\/[^;,]+(?:;[^;,]+)*;base64,)?[A-Za-z0-9+/]+={0,2})$/i
/** Image types by the first characters of the base64 data. */
const imageSignatures = { iVBORw0KGgo: 'png', '/9j/': 'jpeg', R0lGOD: 'gif', UklGR: 'webp' } as const
const anyImage = 'image/*'

/**
 * Returns an image of an input as the file part that is stored, with its other fields. Returns undefined if its data is not an
 * image: base64, a data URL of an image in base64, or an http(s) URL. Does not check the other fields.
 */
export function fileOfImage({ image, mediaType, ...others }: Image): ImageFile | undefined {
  if (!isText(image) || !imageForm.test(image)) return undefined
  const file = (found: string, data: ImageFile['data']): ImageFile => ({ ...others, type: 'file', mediaType: mediaType ?? found, data })
  if (/^https?:/i.test(image)) return file(anyImage, { type: 'url', url: image })
  const comma = image.indexOf(',')
  const data = image.slice(comma + 1)
  const signature = Object.entries(imageSignatures).find(([start]) => data.startsWith(start))
  const found = signature ? `image/${signature[1]}` : anyImage
  return file(comma < 0 ? found : image.slice('data:'.length, image.indexOf(';')), { type: 'data', data })
}
