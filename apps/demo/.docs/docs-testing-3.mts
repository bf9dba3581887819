import { createMemoryJournal, defineAgent } from '@bowline/agent-loop'
import { checkEvents, checkTranscript, recordingJournal } from '@bowline/agent-loop/testing'
import { scriptedModel } from '@bowline/llm/testing'

const journal = recordingJournal(createMemoryJournal())
const { messages } = await defineAgent({ model: scriptedModel([{ text: 'Hello.' }]) }).run('Hi', { journal }).result()
console.log(checkEvents(journal.log, { allDeltas: true }), checkTranscript(messages)) // → [] []
console.log(checkEvents(journal.log.slice(0, 3))) // → [ 'end: the log stops at step-start' ]

export {}
