import type { BridgeEvent } from '../../agent.ts'
import { BrokenFrame } from './broken-frame.ts'
import type { Update } from './updates.ts'

const maxCharacters = 64 * 1024 * 1024

/** Reassembles an event that was sent in parts. */
export interface EventParts {
  /** Returns the event after its last part. Throws `BrokenFrame`. */
  add(part: NonNullable<Update['part']>): BridgeEvent | undefined
}

export function joinParts(): EventParts {
  let text = ''
  return {
    add(part) {
      text += part.text
      if (text.length > maxCharacters) throw new BrokenFrame(`an event of over ${maxCharacters} characters`)
      if (!part.last) return undefined
      const whole = text
      text = ''
      return parsed(whole)
    },
  }
}

function parsed(text: string): BridgeEvent {
  try {
    return JSON.parse(text) as BridgeEvent
  } catch {
    throw new BrokenFrame('pieces of an event that are not JSON')
  }
}
