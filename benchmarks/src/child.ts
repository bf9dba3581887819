// node child.ts <module of a contender> <workload> [size]: runs the work once and prints its figures as JSON on one line.
import { pathToFileURL } from 'node:url'
import type { Contender, DurableContender, Unable } from './contender.ts'
import type { Sample } from './workload.ts'
import { isWorkloadName, workloads } from './workloads.ts'

const [file, name, size] = process.argv.slice(2)
if (file === undefined || !isWorkloadName(name)) throw new Error('usage: node child.ts <module> <workload> [size]')

// The caller must name a contender of the kind that the workload needs.
const { contender } = (await import(pathToFileURL(file).href)) as { readonly contender: Contender & DurableContender }
const workload = workloads[name]
const figures = await workload.measure(contender, size === undefined ? workload.size : Number(size))
const sample: Sample | Unable = 'unable' in figures ? figures : { ...figures, peakBytes: process.resourceUsage().maxRSS * 1024 }
// Some contenders leave timers or connections open. The line must be written before the process exits.
process.stdout.write(`\n${JSON.stringify(sample)}\n`, () => process.exit(0))
