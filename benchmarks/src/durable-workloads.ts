import { copyFileSync, existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { bytesWritten } from './bytes-written.ts'
import { allOf, storedCall, type Answer, type DurableContender, type Opened } from './contender.ts'
import { withTemporaryFolder } from './temporary-folder.ts'
import { callsThenText, millisecondsOf, runWhole, warmUp, type runRemote } from './turns.ts'
import type { Workload } from './workload.ts'

export const durableWorkloads = {
  'stored-steps': {
    title: 'One turn of 200 steps with a tool',
    unit: 'ms per step',
    size: 200,
    furtherRows: [
      { title: 'the same: handed to the file system', unit: 'bytes per step', valueOf: ({ writtenBytes }) => writtenBytes },
      { title: 'the same: growth of the files', unit: 'bytes per step', valueOf: ({ grownBytes }) => grownBytes },
    ],
    async measure(contender, size) {
      await warmUpStored(contender, callsThenText(20, storedCall), 1)
      const { ms, writtenBytes, grownBytes } = await measureStored(contender, callsThenText(size, storedCall), 1)
      const written = Number.isNaN(writtenBytes) ? {} : { writtenBytes: writtenBytes / size }
      return { value: ms / size, grownBytes: grownBytes / size, ...written }
    },
  },
  'stored-concurrent': {
    title: '100 turns at once, one tool call and 200 deltas each',
    unit: 's',
    size: 100,
    async measure(contender, size) {
      const answers = [storedCall, { text: 200 }]
      await warmUpStored(contender, answers, 10)
      return { value: (await measureStored(contender, answers, size)).ms / 1000 }
    },
  },
} satisfies Readonly<Record<string, Workload<DurableContender>>>

interface Stored {
  readonly ms: number
  readonly writtenBytes: number
  readonly grownBytes: number
}

/** Runs turns in a separate file, so that the measurement starts with an empty one. */
async function warmUpStored(contender: DurableContender, answers: readonly Answer[], turns: number): Promise<void> {
  await withTemporaryFolder((folder) =>
    whileOpen(contender, answers, join(folder, 'warm-up.sqlite'), (opened) =>
      warmUp(() =>
        runStored(
          opened,
          answers,
          Array.from({ length: turns }, () => crypto.randomUUID()),
        ),
      ),
    ),
  )
}

/** Measures concurrent conversations of one turn each, in a file that has empty tables. */
async function measureStored(contender: DurableContender, answers: readonly Answer[], turns: number): Promise<Stored> {
  return withTemporaryFolder(async (folder) => {
    const file = join(folder, 'store.sqlite')
    const ids = Array.from({ length: turns }, (_, index) => `conversation-${index}`)
    await whileOpen(contender, answers, file, () => Promise.resolve())
    const emptyBytes = await checkpointedBytes(file)
    const { ms, writtenBytes } = await whileOpen(contender, answers, file, async (opened) => {
      const writtenBefore = bytesWritten()
      const ms = await millisecondsOf(() => runStored(opened, answers, ids))
      return { ms, writtenBytes: bytesWritten() - writtenBefore }
    })
    const grownBytes = (await checkpointedBytes(file)) - emptyBytes
    await whileOpen(contender, answers, file, (opened) => checkStored(opened, answers, ids))
    return { ms, writtenBytes, grownBytes }
  })
}

/** Opens a file or a database for this work. */
export async function whileOpen<Result>(
  contender: DurableContender,
  answers: readonly Answer[],
  place: string,
  work: (opened: Opened) => Promise<Result>,
): Promise<Result> {
  const opened = await contender.open(answers, place)
  try {
    return await work(opened)
  } finally {
    await opened.close()
  }
}

/** Runs concurrent conversations, one turn each. `check` runs a turn and checks what its reader got. */
export async function runStored(
  opened: Opened,
  answers: readonly Answer[],
  ids: readonly string[],
  check: typeof runRemote = runWhole,
): Promise<void> {
  await Promise.all(ids.map((id) => check({ run: (watch) => opened.run(id, watch) }, answers)))
}

/** Checks that everything that was read is also stored. */
export async function checkStored(opened: Opened, answers: readonly Answer[], ids: readonly string[]): Promise<void> {
  const wanted = allOf(answers).toolResults
  for (const id of ids) {
    const stored = await opened.storedToolResults(id)
    if (stored !== wanted) throw new Error(`${stored} of ${wanted} tool results are stored`)
  }
}

/**
 * Returns the size of the file after its write-ahead log is merged into it. It uses a copy, because another SQLite in the same
 * process does not see the locks of the contender.
 */
async function checkpointedBytes(file: string): Promise<number> {
  return withTemporaryFolder((folder) => {
    const copy = join(folder, 'copy.sqlite')
    for (const suffix of ['', '-wal']) if (existsSync(file + suffix)) copyFileSync(file + suffix, copy + suffix)
    const database = new DatabaseSync(copy)
    database.exec('pragma wal_checkpoint(truncate)')
    database.close()
    return Promise.resolve(statSync(copy).size)
  })
}
