import { systemClock } from '@bowline/llm'
import type { Clock } from '@bowline/llm'
import { describeValue } from '@bowline/llm/arguments'
import { messageOf } from '../../base/agent-error.ts'
import type { SectionContext, TextSource } from '../../contract/prompt.ts'

/** A text, or the reason why there is none: a source never ends a turn. */
type SourceOutcome = { readonly text: string } | { readonly error: string }

/** Time limit of a source, because all turns of the agent wait for one build. */
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

/**
 * Normalises a text: sections are separated by one blank line, however their files end. Replaces characters that no request could
 * carry.
 */
function tidy(text: string): string {
  return text
    .replace(/^(?:[^\S\n]*\n)+/, '')
    .trimEnd()
    .toWellFormed()
}

/** Settles as the work does. Rejects if the work takes too long or is not needed any more; a later result is dropped. */
function withinTime<Result>(clock: Clock, abortSignal: AbortSignal | undefined, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(clock.now() + limitMs, () => reject(new Error(`no answer within ${limitMs} ms`)), { hold: true })
    const giveUp = (): void => {
      cancel()
      reject(new Error('the run was stopped'))
    }
    abortSignal?.addEventListener('abort', giveUp, { once: true })
    void work.then(resolve, reject).finally(() => {
      cancel()
      abortSignal?.removeEventListener('abort', giveUp)
    })
  })
}

/** Gives sections access to files. It is installed from outside, because the root entry has no Node built-ins. */
export interface FileReader {
  /** Returns the whole file as text. Must reject if the file is missing, too large, or not text. */
  readText(path: string): Promise<string>
  /** Returns false if there is no such folder. Must reject if that cannot be found out. */
  isFolder(path: string): Promise<boolean>
}

// Several installed copies of this package share one reader.
const place = Symbol.for('bowline.agent-loop.file-reader')
const registry = globalThis as { [place]?: FileReader }

export function installFileReader(reader: FileReader): void {
  registry[place] = reader
}

/** Throws an error that says what to do, if no reader is installed. */
export function fileReader(): FileReader {
  const reader = registry[place]
  if (!reader) throw new Error("a file needs the file reader; add: import '@bowline/agent-loop/node'")
  return reader
}
