import type { SessionStore } from '../../../src/contract/session-store.ts'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import { memoryStore } from '../../../src/stores/memory.ts'
import { warmUp } from '../../../../testing/src/warm-up.ts'
import { Clients } from './client.ts'
import { programInvariants } from './invariants.ts'
import { lookAtEnd, lookAtRest } from './look-at-end.ts'
import type { RunProgramOptions } from './program-options.ts'
import type { ProgramTime } from '../../../../testing/src/program-time.ts'
import type { Program } from './program.ts'
import { answerAll, runToRest } from './rest.ts'
import { Stage } from './stage.ts'

/** Number of points, broken invariants and trace of one program. */
export interface ProgramVerdict {
  /** Number of store operations. Each is a point at which a process can be disturbed. */
  readonly points: number
  readonly failures: readonly { readonly invariant: string; readonly problems: readonly string[] }[]
  readonly trace: readonly string[]
}

/** Runs one program until it is at rest, answers its questions, and checks its end. */
export async function runProgram(program: Program, options: RunProgramOptions = {}): Promise<ProgramVerdict> {
  await warmUp()
  const stage = new Stage(program, partsOf(options))
  await stage.open()
  try {
    const clients = new Clients(stage)
    const end = await play(stage, clients)
    const failures = (options.invariants ?? programInvariants).flatMap(({ name, check }) => {
      const problems = check(end)
      return problems.length > 0 ? [{ invariant: name, problems }] : []
    })
    return { points: stage.gate.count, failures, trace: stage.trace }
  } finally {
    await stage.clear()
  }
}

async function play(stage: Stage, clients: Clients) {
  await stage.settle()
  for (const step of stage.program.steps) {
    if (stage.ceiling.isReached) break
    await clients.perform(step)
    await stage.dueModel.compare(stage.store, stage.time.now)
  }
  const rests = await runToRest(stage, clients)
  await stage.dueModel.compare(stage.store, stage.time.now)
  const firstRest = await lookAtRest(stage)
  const answered = rests && (await answerAll(stage, clients))
  for (const reader of clients.readers) reader.hurry()
  if (answered) await stage.pass(2_000)
  return lookAtEnd(
    stage,
    clients,
    firstRest,
    answered ? undefined : `the program does not come to rest${rests ? ' after all questions are answered' : ''}`,
  )
}

function partsOf({ store = memoryStore, reopen, faults = [], namespace = 'program' }: RunProgramOptions) {
  const faulty = (made: SessionStore): SessionStore => faults.reduce((inner, fault) => fault.store?.(inner) ?? inner, made)
  const openOptions = (time: ProgramTime) => ({ namespace, clock: time.clock, owner: 'program' })
  const make = faults.findLast((fault) => fault.runtime)?.runtime ?? createRuntime
  return {
    createRuntime: make,
    async open(time: ProgramTime) {
      const made = faulty(await store())
      await made.open(openOptions(time))
      return made
    },
    ...(reopen && {
      async reopen(before: SessionStore, time: ProgramTime) {
        await before.close()
        const after = faulty(await reopen(before))
        await after.open(openOptions(time))
        return after
      },
    }),
  }
}
