/**
 * Escape character. Postgres cannot store NUL, and UTF-8 cannot encode half of a surrogate pair, which SQLite would replace: both
 * are written with this character.
 */
const mark = '\u0001'
const codeOf = { '\0': `${mark}\u0001`, [mark]: `${mark}\u0002` } as const
const half = `${mark}\u0003`
const halves = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g
// oxlint-disable-next-line no-control-regex -- these characters are escaped here
const codes = /\u0001(?:\u0001|\u0002|\u0003([0-9a-f]{4}))/g

/**
 * Escapes a text for storage. Texts stay distinct, and those without half of a surrogate pair keep their order. JSON contains none
 * of the escaped characters.
 */
export function toStored(text: string): string {
  if (!text.includes('\0') && !text.includes(mark) && text.isWellFormed()) return text
  // oxlint-disable-next-line no-control-regex -- these characters are escaped here
  const marked = text.replace(/[\u0000\u0001]/g, (character) => codeOf[character as keyof typeof codeOf])
  return marked.replace(halves, (unit) => half + unit.charCodeAt(0).toString(16))
}

export function fromStored(text: string): string {
  if (!text.includes(mark)) return text
  return text.replace(codes, (code, hex: string | undefined) => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16))
    return code === codeOf['\0'] ? '\0' : mark
  })
}

/** Escapes the texts of a value that is bound to a statement. */
export function boundValue(value: unknown): unknown {
  if (typeof value === 'string') return toStored(value)
  return Array.isArray(value) ? value.map(boundValue) : value
}

const bigint = 20
const integer = 23

/** Parsers of the values of rows. Numbers are below 2^53. */
export const columnTypes = {
  getTypeParser: (type: number) => (type === bigint || type === integer ? Number : fromStored),
}
