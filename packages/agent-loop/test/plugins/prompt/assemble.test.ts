import { manualClock } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import '../../../src/node/index.ts'
import { makeLoaded } from '../../../src/base/loaded.ts'
import { assemblePrompt } from '../../../src/plugins/prompt/assemble.ts'
import { mergeSections } from '../../../src/plugins/prompt/sections.ts'
import type { SectionContext } from '../../../src/contract/prompt.ts'
import type { PromptSections } from '../../../src/contract/prompt.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const noon: SectionContext = { tools: ['read'], now: Date.UTC(2026, 1, 3, 12) }
const skill = { name: 'pdf', description: 'Reads PDF', location: '/skills/pdf/SKILL.md' }

function build(sections: PromptSections, context: Partial<SectionContext> = {}) {
  return assemblePrompt(mergeSections(sections), { ...noon, ...context })
}

describe('the system prompt', () => {
  it('A157: sections are in the given order, one blank line apart, and empty ones are left out', async () => {
    const { path } = await temporaryFolder()
    const sections: PromptSections = {
      footer: { lines: ['THE-FOOTER'] },
      platform: { slack: 'THE-PLATFORM', web: 'no' },
      skills: [skill],
      user: ' \n',
      memory: () => 'THE-MEMORY\n\n',
      append: '\n\r\n  THE-APPENDIX',
      docs: { folder: path },
      soul: 'THE-IDENTITY',
    }
    const { text, errors } = await build(sections, { channel: 'slack' })
    expect(errors).toEqual([])
    const parts = text.split('\n\n')
    expect(parts.map((part) => part.split('\n')[0])).toEqual([
      ...['THE-IDENTITY', `The documentation is in the folder ${path}.`, '  THE-APPENDIX', 'THE-MEMORY'],
      ...['<skills>', 'THE-PLATFORM', 'THE-FOOTER'],
    ])
    expect(text).not.toMatch(/\n\n\n|\s$/)
  })

  it('A157: system replaces the identity and nothing else', async () => {
    const rest = { append: 'two', memory: 'three' }
    expect((await build({ ...rest, system: 'one', soul: 'soul' })).text).toBe('one\n\ntwo\n\nthree')
    expect((await build({ ...rest, soul: 'soul' })).text).toBe('soul\n\ntwo\n\nthree')
    expect((await build({ ...rest, system: '', soul: 'soul' })).text).toBe('two\n\nthree')
  })

  it('without system and soul it has a default line, and it has guidelines while there are tools', async () => {
    const [without, withTools] = [await build({}, { tools: [] }), await build({})]
    expect(without.text).toMatch(/^You are .*\.$/)
    expect(withTools.text).toMatch(/^You are .*\n\n- Use a tool/)
  })

  it('A159: a source that throws, rejects or returns no text is left out with an error, and the others stay', async () => {
    const { text, errors } = await build({
      system: 'one',
      append: () => {
        throw new Error('no appendix')
      },
      memory: () => Promise.reject(new Error('no memory')),
      user: (() => 5) as unknown as () => string,
      footer: { lines: ['last'] },
    })
    expect(text).toBe('one\n\nlast')
    expect(errors).toEqual([
      { section: 'append', message: 'no appendix' },
      { section: 'memory', message: 'no memory' },
      { section: 'user', message: 'the section must be a text; received 5' },
    ])
  })

  it('A159: a file that is missing, no file, no text or too large is left out with an error that names it', async () => {
    const folder = await temporaryFolder()
    const given = {
      soul: await folder.write('soul.md', '\uFEFFI am Ada.\n'),
      append: `${folder.path}/none.md`,
      memory: folder.path,
      user: await folder.write('user.md', Uint8Array.of(0x68, 0xff, 0x69)),
      large: await folder.write('large.md', 'x'.repeat(1_048_577)),
    }
    const { text, errors } = await build(
      {
        soul: { file: given.soul },
        append: { file: given.append },
        memory: { file: given.memory },
        user: { file: given.user },
        platform: { cli: { file: given.large } },
      },
      { channel: 'cli' },
    )
    expect(text).toBe('I am Ada.')
    expect(errors).toEqual([
      { section: 'append', message: `${given.append} cannot be read: it does not exist` },
      { section: 'memory', message: `${given.memory} cannot be read: it is not a file` },
      { section: 'user', message: `${given.user} cannot be read: it is not UTF-8` },
      { section: 'platform', message: `${given.large} cannot be read: it is larger than 1048576 bytes` },
    ])
  })

  it('A159: a function without an answer after 30 s is left out, and no timer stays', async () => {
    const clock = manualClock()
    const sections = mergeSections({ system: 'one', memory: () => new Promise<string>(() => undefined), user: () => 'two' })
    const building = assemblePrompt(sections, noon, { clock })
    await clock.advance(30_000)
    expect(await building).toMatchObject({ text: 'one\n\ntwo', errors: [{ section: 'memory', message: 'no answer within 30000 ms' }] })
    expect(clock.pendingTimers).toBe(0)
  })

  it('functions are called with the context', async () => {
    const seen: SectionContext[] = []
    await build({ system: (context) => (seen.push(context), 'x') }, { channel: 'web', sessionKey: 's1' })
    expect(seen).toEqual([{ ...noon, channel: 'web', sessionKey: 's1' }])
  })

  it('lists docs with their topics, and only while the folder exists', async () => {
    const { path, write } = await temporaryFolder()
    const file = await write('file.md', '')
    const topics = ['setup', 'limits']
    expect((await build({ system: '', docs: { folder: path, topics } })).text).toBe(
      `The documentation is in the folder ${path}. Its topics: setup, limits.`,
    )
    for (const folder of [`${path}/none`, file, `${file}/below`]) {
      expect(await build({ system: '', docs: { folder, topics } })).toMatchObject({ text: '', errors: [] })
    }
  })

  it('lists skills with escaped fields while a tool named read or skill is active', async () => {
    const skills = [{ name: 'a<b', description: '"x" & </skill>', location: '/a' }, skill]
    const { text } = await build({ system: '', skills }, { tools: ['skill'] })
    expect(text.split('\n').slice(2)).toEqual([
      ...[
        '<skill>',
        '<name>a&lt;b</name>',
        '<description>&quot;x&quot; &amp; &lt;/skill&gt;</description>',
        '<location>/a</location>',
        '</skill>',
      ],
      ...['<skill>', '<name>pdf</name>', '<description>Reads PDF</description>', '<location>/skills/pdf/SKILL.md</location>', '</skill>'],
      '</skills>',
    ])
    expect((await build({ system: '', skills }, { tools: ['reader', 'Skill'] })).text).toBe('')
    expect((await build({ system: '', skills: [] })).text).toBe('')
  })

  it('lists the first of several skills with one name, also from folders', async () => {
    const loaded = makeLoaded({
      items: [
        { ...skill, description: 'second' },
        { ...skill, name: 'csv' },
      ],
      diagnostics: [],
      reload: () => Promise.reject(new Error()),
    })
    const { text } = await build({ system: '', skills: [skill, loaded] })
    expect(text.match(/<name>.*<\/name>/g)).toEqual(['<name>pdf</name>', '<name>csv</name>'])
    expect(text).not.toContain('second')
  })

  it('the platform section is the one of the channel', async () => {
    const platform = { slack: 'Use mrkdwn.', web: 'Use Markdown.' }
    expect((await build({ system: '', platform }, { channel: 'web' })).text).toBe('Use Markdown.')
    expect((await build({ system: '', platform }, { channel: 'toString' })).text).toBe('')
    expect((await build({ system: '', platform })).text).toBe('')
  })

  it('the footer has the parts that were requested, the date as a day in UTC', async () => {
    const footer = { date: true, workingFolder: '/work', lines: ['Host: a'], sessionKey: true }
    const now = Date.UTC(2026, 1, 3, 23, 59, 59, 999)
    expect((await build({ system: '', footer }, { now, sessionKey: 's1' })).text).toBe(
      'Date: 2026-02-03\nWorking folder: /work\nHost: a\nSession: s1',
    )
    expect((await build({ system: '', footer: { date: false, sessionKey: true } })).text).toBe('')
    expect((await build({ system: '', footer: {} }, { sessionKey: 's1' })).text).toBe('')
  })

  it('replaces characters that no request can carry', async () => {
    expect((await build({ system: 'a\uD800b' })).text).toBe('a\uFFFDb')
  })
})

describe('sections of extensions', () => {
  it('add their texts and skills after those of the agent, and docs if the agent has none', async () => {
    const { path } = await temporaryFolder()
    const merged = mergeSections({ system: 'own', append: 'a', skills: [skill] }, [
      { append: () => 'b', memory: 'm', skills: [{ ...skill, name: 'csv' }] },
      undefined,
      { append: 'c', docs: { folder: path } },
      { docs: { folder: '/other' } },
    ])
    const { text } = await assemblePrompt(merged, noon)
    expect(text.replace(/<skills>[^]*/, '')).toBe(`own\n\nThe documentation is in the folder ${path}.\n\na\n\nb\n\nc\n\nm\n\n`)
    expect(text.match(/<name>.*<\/name>/g)).toEqual(['<name>pdf</name>', '<name>csv</name>'])
  })

  it('A159: a section that fails leaves the other sections of its kind', async () => {
    const merged = mergeSections({ system: 'own', append: () => Promise.reject(new Error('gone')) }, [{ append: 'b' }])
    expect(await assemblePrompt(merged, noon)).toMatchObject({ text: 'own\n\nb', errors: [{ section: 'append', message: 'gone' }] })
  })
})
