import { isDeepStrictEqual } from 'node:util'

/** What a copy of the loop did with one script: lines of text, kept apart where their order is left open. */
export class Trace {
  readonly #channels = new Map<string, string[]>()
  /** What was reached, each with how often. */
  readonly reach = new Map<string, number>()
  /** How many lines there are. */
  size = 0

  add(channel: string, line: string): void {
    const lines = this.#channels.get(channel)
    if (lines) lines.push(line)
    else this.#channels.set(channel, [line])
    this.size++
  }

  reached(feature: string): void {
    this.reach.set(feature, (this.reach.get(feature) ?? 0) + 1)
  }

  /** Returns the first line that differs from that of the other, or undefined if all are equal. */
  difference(other: Trace): Difference | undefined {
    const channels = [...new Set([...this.#channels.keys(), ...other.#channels.keys()])]
    for (const channel of channels) {
      const [lines, others] = [this.#channels.get(channel) ?? [], other.#channels.get(channel) ?? []]
      const place = lines.findIndex((line, index) => !isSame(line, others[index]))
      const line = place < 0 ? lines.length : place
      if (line < Math.max(lines.length, others.length)) return { channel, line, former: lines[line], current: others[line], before: lines.slice(Math.max(0, line - 2), line) }
    }
    return undefined
  }
}

/** The order of keys is no difference. Values stand behind tabs. */
function isSame(line: string, other: string | undefined): boolean {
  if (line === other) return true
  if (other === undefined || line.length !== other.length) return false
  const [values, others] = [line.split('\t'), other.split('\t')]
  return values.length === others.length && values.every((value, place) => isSameValue(value, others[place] as string))
}

function isSameValue(text: string, other: string): boolean {
  if (text === other) return true
  return /^[{[]/.test(text) && /^[{[]/.test(other) && isDeepStrictEqual(JSON.parse(text), JSON.parse(other))
}

export interface Difference {
  readonly channel: string
  readonly line: number
  readonly former: string | undefined
  readonly current: string | undefined
  /** The last equal lines. */
  readonly before: readonly string[]
}

/** Returns the value as text. Signals say whether they are aborted, errors what they are called; functions are left out. */
export function show(value: unknown): string {
  try {
    return JSON.stringify(value, showPart) ?? 'undefined'
  } catch (error) {
    return `[${String(error).split('\n')[0]}]`
  }
}

const shown = new WeakMap<object, string>()

/** Returns a frozen event as text: several readers get the same one. */
export function showOnce(event: object): string {
  const known = shown.get(event)
  if (known !== undefined) return known
  const text = show(event)
  if (Object.isFrozen(event)) shown.set(event, text)
  return text
}

function showPart(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  if (value instanceof AbortSignal) return value.aborted ? 'aborted' : 'not aborted'
  if (value instanceof Error) return `${value.name}: ${value.message}`
  return value
}
