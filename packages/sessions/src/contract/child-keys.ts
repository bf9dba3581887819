import { createHash } from 'node:crypto'

const taskIdForm = /^bg_[0-9a-f]{32}$/

/** The key of a child's session: no key from outside can have the form. */
export function childSessionKey(parentKey: string, agent: string, suffix: string): string {
  return `${parentKey}~${agent}~${suffix}`
}

/** Derived from the run of the child, and so from its parent's run and call: a launch that is repeated gives it again. */
export function taskIdOf(childRunId: string): string {
  return `bg_${createHash('sha256').update(childRunId).digest('hex').slice(0, 32)}`
}

export function isTaskId(text: string): boolean {
  return taskIdForm.test(text)
}

/** Keys of the sessions above a child's, the nearest first. */
export function keysAbove(key: string): readonly string[] {
  const parts = key.split('~')
  const keys: string[] = []
  for (let length = parts.length - 2; length > 0; length -= 2) keys.push(parts.slice(0, length).join('~'))
  return keys
}
