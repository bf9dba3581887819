import { systemClock } from '@bowline/llm'
import type { Clock } from '@bowline/llm'
import { describeValue } from '@bowline/llm/arguments'
import { messageOf } from '../../base/agent-error.ts'
import type { SectionContext, TextSource } from '../../contract/prompt.ts'
import { withinTime } from './deadline.ts'
import { fileReader } from './file-reader.ts'

/** A text or why there is none: a source never ends a turn. */
export type SourceOutcome = { readonly text: string } | { readonly error: string }

/** Without an answer after it, a source counts as failed: all turns of the agent wait for one build. */
const limitMs = 30_000

export interface ReadOptions {
  readonly clock?: Clock | undefined
  readonly abortSignal?: AbortSignal
}

export async function readSource(
  source: TextSource,
  context: SectionContext,
  { clock = systemClock, abortSignal }: ReadOptions = {},
): Promise<SourceOutcome> {
  if (typeof source === 'string') return { text: tidy(source) }
  try {
    const text = await withinTime({ clock, limitMs, abortSignal }, ask(source, context))
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
