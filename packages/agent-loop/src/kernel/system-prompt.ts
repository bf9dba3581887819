import type { SystemPrompt } from './run-context.ts'

export const noPrompt: SystemPrompt = wholePrompt('')

/** Of a text about whose parts nothing is known. */
export function wholePrompt(text: string): SystemPrompt {
  return { text, sections: [{ name: 'instructions', end: text.length }], lasting: text.length }
}

/** The prompt whose text became this one: hooks may have added to it, or put another text in its place. */
export function promptFor(built: SystemPrompt, text: string): SystemPrompt {
  if (text === built.text) return built
  if (!text.startsWith(built.text)) return wholePrompt(text)
  return { ...built, text, sections: [...built.sections, { name: 'added', end: text.length }] }
}
