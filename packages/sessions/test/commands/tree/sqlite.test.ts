import { sqliteStore } from '@bowline/sessions/sqlite'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolders } from '../../stores/temporary-folder.ts'
import { checkLog } from '../../support.ts'
import { fileOf, linesOf, look, smallWindow, talk, textsOf } from './talk.ts'

const temporaryFolder = temporaryFolders()

it('S149, S152, S155, S159: a tree on disk is switched, compacted, forked and read again', async () => {
  const store = sqliteStore({ file: join(temporaryFolder(), 'tree.db') })
  const long = 'x'.repeat(400)
  const steps = [
    { text: long, toolCalls: [{ id: 'a', name: 'look', input: {} }] },
    { text: long },
    { text: 'SUMMARY' },
    { text: 'LEFT' },
    { text: 'on' },
  ]
  const { session, say, ids, runtime } = await talk({ ...smallWindow(steps).options, tools: [look], store })
  await say(`FIRST ${long}`)
  const [, , , answer = ''] = await ids()
  await session.label(answer, 'answered')
  expect(await session.compact()).toMatchObject({ outcome: 'done' })
  await session.switchTo(null, { summarize: true })
  await say('anew')
  expect(await textsOf(session)).toEqual(['anew', 'on'])
  const [branch] = (await session.branches()).items
  expect(await session.labels({ leaf: branch?.leaf ?? '' })).toMatchObject([{ entryId: answer, text: 'answered' }])

  const fork = await session.fork({ entryId: branch?.leaf ?? '', key: 'room:2' })
  expect(await textsOf(fork)).toEqual([`FIRST ${long}`, `${long}+tool-call`, 'a={"type":"text","value":"seen"}', long])
  const lines = await linesOf(session.export({ allBranches: true, events: true }))
  const copy = await runtime.importSession(fileOf(lines), { key: 'room:3' })
  expect((await copy.branches()).items).toEqual((await session.branches()).items)
  expect(await linesOf(copy.export({ allBranches: true }))).toHaveLength(lines.filter((line) => !line.startsWith('{"type":"event"')).length)
  for (const each of [session, fork, copy]) await checkLog(each)
})
