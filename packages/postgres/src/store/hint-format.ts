/** Notification that something was written and can be read. Hints may be lost, delayed or duplicated. */
export interface Hint {
  readonly key: string
  /** Number of the newest event after a commit. Undefined if nothing was committed. */
  readonly seq: number | undefined
  /** Work may be claimable. */
  readonly wake: boolean
  /** Live deltas were written. */
  readonly deltas: boolean
}

/** If `hints` is undefined, hints were lost or have a newer format, and everything must be read. */
export interface HintBatch {
  readonly sender: string
  /** Number of the batch, counted by the sender. */
  readonly batch: number
  readonly hints: readonly Hint[] | undefined
}

/** The server accepts a payload shorter than 8,000 bytes. */
const mostBytes = 7999

const version = '1'
/** No key contains this character. */
const everything = '*'
const flags = { wake: 'w', deltas: 'd' } as const

/** Keys, senders and numbers use one byte per character and contain neither spaces nor line ends. */
const entryForm = /^([A-Za-z0-9._:\-@/+=~]+) (\d{1,16}|-) ([a-z]*)$/
const headerForm = /^1 (\S+) (\d{1,16})$/

/** Returns payloads with a hint for every key, and no content. */
export function encodeHints({ sender, batch, hints }: HintBatch): readonly string[] {
  const header = `${version} ${sender} ${batch}`
  if (hints === undefined) return [`${header}\n${everything}`]
  const payloads: string[] = []
  let payload = header
  for (const hint of hints) {
    const entry = `\n${encodeHint(hint)}`
    if (payload.length + entry.length > mostBytes) {
      payloads.push(payload)
      payload = header
    }
    payload += entry
  }
  return payload === header ? payloads : [...payloads, payload]
}

function encodeHint({ key, seq, wake, deltas }: Hint): string {
  return `${key} ${seq ?? '-'} ${wake ? flags.wake : ''}${deltas ? flags.deltas : ''}`
}

/** Returns undefined if the payload does not have this version. */
export function decodeHints(payload: string): HintBatch | undefined {
  const [header = '', ...entries] = payload.split('\n')
  const [, sender, batch] = headerForm.exec(header) ?? []
  if (sender === undefined || batch === undefined) return undefined
  const hints = entries.map(decodeHint)
  const isWhole = hints.length > 0 && hints.every((hint) => hint !== undefined)
  return { sender, batch: Number(batch), hints: isWhole ? hints : undefined }
}

/** Ignores flags of later versions. */
function decodeHint(entry: string): Hint | undefined {
  const [, key, seq, given = ''] = entryForm.exec(entry) ?? []
  if (key === undefined || seq === undefined) return undefined
  return { key, seq: seq === '-' ? undefined : Number(seq), wake: given.includes(flags.wake), deltas: given.includes(flags.deltas) }
}

/** Combines two hints for one key. */
export function mergeHints(left: Hint, right: Hint): Hint {
  const seq = left.seq === undefined || right.seq === undefined ? (left.seq ?? right.seq) : Math.max(left.seq, right.seq)
  return { key: left.key, seq, wake: left.wake || right.wake, deltas: left.deltas || right.deltas }
}
