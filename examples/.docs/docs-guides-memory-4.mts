import { createMemories, memoryStateStore } from '@bowline/sessions'

const memories = createMemories({ store: memoryStateStore(), maxNotes: 2 })
const alice = { user: 'alice' }
await memories.save(alice, { key: 'pet', text: 'Has a cat named Mio.' })
await memories.save(alice, { key: 'city', text: 'Lives in Oslo.', tags: ['address'] })
console.log((await memories.search(alice, 'OSLO cat')).map((note) => note.key).sort()) // → [ 'city', 'pet' ]
console.log(await memories.save(alice, { text: 'One too many.' }).catch((error) => error.code)) // → store-full
for await (const { key, text } of memories.export(alice)) if (key === 'pet') console.log(text) // → Has a cat named Mio.
console.log(await memories.remove(alice, 'city'), await memories.forget(alice)) // → true 1

export {}
