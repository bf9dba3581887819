// node packages/agent-loop/test/oracle/print-reach.ts: prints what the scripts of the oracle reach, and in how many scripts.
import { warmUp } from '../fuzz/warm-up.ts'
import { Exploration } from './explore.ts'
import { features } from './features.ts'
import { conversationParts, crashParts, scriptsPerPart } from './parts.ts'

await warmUp()
const conversations = [new Exploration(1, scriptsPerPart), new Exploration(2, scriptsPerPart)]
const crashes = new Exploration(3, scriptsPerPart)
for (const part of conversationParts) for (const exploration of conversations) await exploration.part(part)
for (const part of crashParts) await crashes.crashPart(part)

const all = [...conversations, crashes]
console.log(`${all.reduce((sum, { count }) => sum + count, 0)} scripts\n\nfeature | scripts of conversations 1, 2 and crashes`)
for (const feature of features) console.log(`${feature} | ${all.map(({ reach }) => reach.scripts(feature)).join(', ')}`)

const totals = new Map<string, number>()
for (const { reach } of all) for (const [name, times] of reach.totals) totals.set(name, (totals.get(name) ?? 0) + times)
console.log('\nwhat | how often')
for (const [name, times] of [...totals].sort(([one], [other]) => (one < other ? -1 : 1))) console.log(`${name} | ${times}`)
