import { createRedaction, type JSONValue } from '@bowline/llm'

/** What must not leave the process with an error: secrets, and besides them where things lie on this machine. */
const redaction = createRedaction({
  fields: ['stack'],
  patterns: [
    // Stack frames, each on a line of its own.
    [/\n\s+at .*/g, ''],
    [/file:\/\/\/[^\s"'`)]+/g, '[path]'],
    // An absolute path, not the path of a web address.
    [/(?<![\w:/.\\-])(?:[A-Za-z]:[\\/]|\/)(?:[^\s"'`:()\\/]+[\\/])+[^\s"'`:()\\/]*(?::\d+)*/g, '[path]'],
  ],
})

export function redactText(text: string): string {
  return redaction.text(text)
}

export function redactValue(value: JSONValue): JSONValue {
  return redaction.value(value) as JSONValue
}
