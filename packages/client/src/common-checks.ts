import { isFields, type ArgumentCheck } from '@bowline/llm/arguments'
import { inputChecks, json, jsonObject, listOf } from './arguments.ts'
import type { UserMessageInput } from './wire.ts'

/** Checks that several entries of the package share. Checks that only the root needs are in `request-checks.ts`. */

const { checkContentPart, checkRequired, record } = inputChecks
const sessionIdForm = /^[A-Za-z0-9][A-Za-z0-9_~-]{0,255}$/

export function checkSessionId(path: string, id: unknown): void {
  const isSessionId = (given: unknown): boolean => typeof given === 'string' && sessionIdForm.test(given)
  checkRequired(path, id, 'a session id: a letter or digit, then up to 255 of those and _ ~ -', isSessionId)
}

export const content: ArgumentCheck = (path, value) => {
  // The server checks images.
  const part: ArgumentCheck = (place, given) => (isFields(given) && given['type'] === 'image' ? jsonObject : checkContentPart)(place, given)
  if (Array.isArray(value)) listOf(part)(path, value)
  else checkRequired(path, value, 'a text with at least one character, or a list of parts', isName)
}
const userMessage = record<UserMessageInput>({
  role: (path, value) => checkRequired(path, value, 'user', (given) => given === 'user'),
  content,
})

/** Checks a text or a message of the user. */
export function checkMessage(input: unknown, otherForms = ''): void {
  if (isFields(input)) userMessage('input', input)
  else checkRequired('input', input, `a text with at least one character, a message of the user${otherForms}`, isName)
  json('input', input)
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}
