export type ConnectionState = 'idle' | 'connecting' | 'open' | 'waiting' | 'closed'
export type ConnectionWord = 'idle' | 'connected' | 'lost' | 'waiting' | 'resumed' | 'closed'

/** What happened to the connection, or that the present word has been there long enough to be read. */
export type ConnectionSignal = ConnectionState | 'time-passed'

/** The way of a connection in words for people: lost, then waiting, then resumed. */
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
