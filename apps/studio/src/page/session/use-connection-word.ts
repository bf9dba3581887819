import { useEffect, useReducer } from 'react'
import { nextWord } from './connection-word.ts'
import type { ConnectionState, ConnectionWord } from './connection-word.ts'

const lostMs = 300
const resumedMs = 4000

/** Returns the word for the connection. Each word is shown long enough to be read. */
export function useConnectionWord(state: ConnectionState): ConnectionWord {
  const [word, signal] = useReducer(nextWord, 'idle')
  useEffect(() => signal(state), [state])
  useEffect(() => {
    const delayMs = word === 'lost' ? lostMs : word === 'resumed' ? resumedMs : undefined
    if (delayMs === undefined) return
    const timer = setTimeout(() => signal('time-passed'), delayMs)
    return () => clearTimeout(timer)
  }, [word])
  return word
}
