export type ConnectionState = 'idle' | 'connecting' | 'open' | 'waiting' | 'closed'
export type ConnectionWord = 'idle' | 'connected' | 'lost' | 'waiting' | 'resumed' | 'closed'

/** Change of the connection, or `time-passed` if the current word was shown long enough. */
export type ConnectionSignal = ConnectionState | 'time-passed'

/** Returns the next word for the state of the connection: lost, then waiting, then resumed. */
export function nextWord(word: ConnectionWord, signal: ConnectionSignal): ConnectionWord {
  const down = word === 'lost' || word === 'waiting' || word === 'closed'
  switch (signal) {
    case 'idle':
      return 'idle'
    case 'open':
      return down ? 'resumed' : word === 'resumed' ? word : 'connected'
    case 'waiting':
      return down ? word : 'lost'
    case 'connecting':
      return word
    case 'closed':
      return 'closed'
    case 'time-passed':
      return word === 'lost' ? 'waiting' : word === 'resumed' ? 'connected' : word
  }
}
