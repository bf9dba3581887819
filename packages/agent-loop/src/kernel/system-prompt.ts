import type { SystemPrompt } from './run-context.ts'

export const noPrompt: SystemPrompt = wholePrompt('')

/** Returns a prompt of one part, for a text whose parts are not known. */
export function wholePrompt(text: string): SystemPrompt {
  return { text, sections: [{ name: 'instructions', end: text.length }], lasting: text.length }
}

/** Returns the prompt for this text, which hooks made of the built prompt: they may have added to it, or replaced it. */
export function promptFor(built: SystemPrompt, text: string): SystemPrompt {
  if (text === built.text) return built
  if (!text.startsWith(built.text)) return wholePrompt(text)
  return { ...built, text, sections: [...built.sections, { name: 'added', end: text.length }] }
}
