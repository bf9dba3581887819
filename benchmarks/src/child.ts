// node child.ts <module of a contender> <workload> [size]: does the work once and says what it took, as JSON on one line.
import { pathToFileURL } from 'node:url'
import type { Contender } from './contender.ts'
import { isWorkloadName, workloads, type Sample } from './workloads.ts'

const [file, name, size] = process.argv.slice(2)
if (file === undefined || !isWorkloadName(name)) throw new Error('usage: node child.ts <module> <workload> [size]')

const { contender } = (await import(pathToFileURL(file).href)) as { readonly contender: Contender }
const workload = workloads[name]
const value = await workload.measure(contender, size === undefined ? workload.size : Number(size))
const sample: Sample = { value, peakBytes: process.resourceUsage().maxRSS * 1024 }
// Some contenders leave timers or connections behind; the line must be out before they are cut off.
process.stdout.write(`\n${JSON.stringify(sample)}\n`, () => process.exit(0))
