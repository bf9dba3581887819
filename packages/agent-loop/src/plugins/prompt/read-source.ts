import { systemClock } from '@bowline/llm'
import type { Clock } from '@bowline/llm'
import { describeValue } from '@bowline/llm/arguments'
import { messageOf } from '../../base/agent-error.ts'
import type { SectionContext, TextSource } from '../../contract/prompt.ts'

/** A text or why there is none: a source never ends a turn. */
type SourceOutcome = { readonly text: string } | { readonly error: string }

/** Without an answer after it, a source counts as failed: all turns of the agent wait for one build. */
const limitMs = 30_000

export interface ReadOptions {
  readonly clock?: Clock | undefined
  /** Aborted when the text is not needed any more. */
  readonly abortSignal?: AbortSignal
}

export async function readSource(
  source: TextSource,
  context: SectionContext,
  { clock = systemClock, abortSignal }: ReadOptions = {},
): Promise<SourceOutcome> {
  if (typeof source === 'string') return { text: tidy(source) }
  try {
    const text = await withinTime(clock, abortSignal, ask(source, context))
    return typeof text === 'string' ? { text: tidy(text) } : { error: `the section must be a text; received ${describeValue(text)}` }
  } catch (error) {
    return { error: messageOf(error) }
  }
}

async function ask(source: Exclude<TextSource, string>, context: SectionContext): Promise<unknown> {
  return typeof source === 'function' ? source(context) : fileReader().readText(source.file)
}

/** Sections are apart by one blank line, however their files end. What no request could carry is replaced. */
function tidy(text: string): string {
  return text.replace(/^(?:[^\S\n]*\n)+/, '').trimEnd().toWellFormed()
}

/** Settles as the work does, or rejects when it has taken too long or is not needed any more: what comes later is dropped. */
function withinTime<Result>(clock: Clock, abortSignal: AbortSignal | undefined, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(clock.now() + limitMs, () => reject(new Error(`no answer within ${limitMs} ms`)), { hold: true })
    const giveUp = (): void => {
      cancel()
      reject(new Error('nobody waits for it'))
    }
    abortSignal?.addEventListener('abort', giveUp, { once: true })
    void work.then(resolve, reject).finally(() => {
      cancel()
      abortSignal?.removeEventListener('abort', giveUp)
    })
  })
}

/** How sections reach files. The root entry has no Node built-ins, so that it comes from outside. */
export interface FileReader {
  /** The whole file as text. Must reject when it is missing, is no text, or is too large. */
  readText(path: string): Promise<string>
  /** False for what is not there. Must reject when it is unknown. */
  isFolder(path: string): Promise<boolean>
}

// Several installed copies of this package share one reader.
const place = Symbol.for('bowline.agent-loop.file-reader')
const registry = globalThis as { [place]?: FileReader }

export function installFileReader(reader: FileReader): void {
  registry[place] = reader
}

/** Throws, with what to do about it, when no reader is installed. */
export function fileReader(): FileReader {
  const reader = registry[place]
  if (!reader) throw new Error("files are read only after import '@bowline/agent-loop/node'")
  return reader
}
