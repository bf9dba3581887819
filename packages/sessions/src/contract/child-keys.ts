import { createHash } from 'node:crypto'

const taskIdForm = /^bg_[0-9a-f]{32}$/

/** Returns the key of a child session. Keys from outside cannot contain `~`. */
export function childSessionKey(parentKey: string, agent: string, suffix: string): string {
  return `${parentKey}~${agent}~${suffix}`
}

/** Returns the task id of a child run. The run id is derived from the parent run and call, so a repeated launch gets the same task id. */
export function taskIdOf(childRunId: string): string {
  return `bg_${createHash('sha256').update(childRunId).digest('hex').slice(0, 32)}`
}

export function isTaskId(text: string): boolean {
  return taskIdForm.test(text)
}

/** Returns the keys of the sessions above a child session, the nearest first. */
export function keysAbove(key: string): readonly string[] {
  const parts = key.split('~')
  const keys: string[] = []
  for (let length = parts.length - 2; length > 0; length -= 2) keys.push(parts.slice(0, length).join('~'))
  return keys
}
