import { describeValue, isRecord } from '@bowline/llm/arguments'
import { SessionError } from '../../errors.ts'
import { checkKey } from '../../keys.ts'
import type { ImportOptions } from '../tree/types.ts'
import type { SessionContext } from '../context.ts'
import { copySession, type SessionCopy } from '../tree/session-copy.ts'
import { metadataOf } from '../settings.ts'
import { ImportedTree } from './imported-tree.ts'
import { LineSum, type ExportHeader } from './format.ts'
import { readEntry, readFooter, readHeader, refuse } from './read-line.ts'

/** Creates a session from the lines of an export. It stays invisible until the last line was checked. Resolves with its key. */
export async function importSession(context: SessionContext, lines: AsyncIterable<string>, options: ImportOptions): Promise<string> {
  const file = numbered(lines)
  try {
    return await importFile(context, file, options)
  } finally {
    // Closes the source even if it was not read to its end.
    await file.return(undefined)
  }
}

async function importFile(context: SessionContext, file: AsyncGenerator<Line, undefined>, options: ImportOptions): Promise<string> {
  const metadata = metadataOf('metadata', options.metadata)
  const sum = new LineSum()
  const { value: first } = await file.next()
  if (!first) throw refuse(1, 'the file is empty')
  const header = readHeader(first.value)
  sum.add(first.text)
  const { key = header.key, owner, repair = false } = options
  checkKey(key)
  const { agent, settings } = header
  if (!context.agents.has(agent))
    throw new SessionError('unknown-agent', `The file belongs to the agent ${agent}, which this runtime does not have.`)
  const session = { key, agent, settings, metadata: metadata ?? header.metadata, ...(owner === undefined ? {} : { owner }) }
  await copySession(context, session, (copy) => copyLines(context, copy, { header, file, sum, repair }))
  return key
}

interface Line {
  readonly value: unknown
  readonly text: string
  readonly line: number
}

interface ImportedFile {
  readonly header: ExportHeader
  /** Lines after the header. */
  readonly file: AsyncIterable<Line>
  readonly sum: LineSum
  readonly repair: boolean
}

async function copyLines({ ids }: SessionContext, copy: SessionCopy, { header, file, sum, repair }: ImportedFile): Promise<string | null> {
  const tree = new ImportedTree({ repair, nextId: () => ids.next('msg') })
  const counts = { entries: 0, events: 0 }
  let last = 1
  let isComplete = false
  for await (const { value, text, line } of file) {
    last = line
    if (isComplete) throw refuse(line, 'it comes after the footer, which must be the last line')
    if (!isRecord(value)) throw refuse(line, 'it is not a JSON object')
    switch (value.type) {
      case 'entry':
        counts.entries++
        for (const entry of tree.take(readEntry(value.entry, line), line)) await copy.add(entry)
        break
      case 'event':
        // Ignored: the log of a copy starts with the copy.
        counts.events++
        break
      case 'footer':
        checkFooter(readFooter(value, line), { ...counts, sha256: sum.digest() }, line)
        isComplete = true
        break
      default:
        throw refuse(line, 'its type is unknown in this format')
    }
    if (!isComplete) sum.add(text)
  }
  if (!isComplete) throw refuse(last, 'the file ends without a footer: a part of it is missing')
  const { entries, leaf } = tree.end(header.leaf, last)
  for (const entry of entries) await copy.add(entry)
  return leaf
}

type Sums = ReturnType<typeof readFooter>

function checkFooter(said: Sums, found: Sums, line: number): void {
  for (const name of ['entries', 'events'] as const) {
    if (said[name] !== found[name]) throw refuse(line, `the footer counts ${said[name]} ${name}, but the file has ${found[name]}`)
  }
  if (said.sha256 !== found.sha256) throw refuse(line, 'its checksum does not match the lines before it: the file was changed')
}

/** Parses each line. Skips empty ones. */
async function* numbered(lines: AsyncIterable<string>): AsyncGenerator<Line, undefined, undefined> {
  let line = 0
  for await (const given of lines) {
    line++
    if (typeof given !== 'string') throw refuse(line, `it must be a text; received ${describeValue(given)}`)
    const text = given.replace(/\r?\n$/, '')
    if (text.trim() === '') continue
    yield { value: parse(text, line), text, line }
  }
}

function parse(text: string, line: number): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw refuse(line, 'it is not JSON')
  }
}
