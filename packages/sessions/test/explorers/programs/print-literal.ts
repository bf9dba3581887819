/** Prints JSON as code of a program. */
export function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (typeof value === 'string') return quoted(value)
  if (typeof value !== 'object' || value === null) return String(value)
  const fields = Object.entries(value).flatMap(([name, field]) => (field === undefined ? [] : `${name}: ${literal(field)}`))
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`
}

/** Prints a text in quotation marks. */
export function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
