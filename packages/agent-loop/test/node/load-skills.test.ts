import { symlink } from 'node:fs/promises'
import { relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { AgentError } from '../../src/base/agent-error.ts'
import { loadSkills } from '../../src/node/index.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const skillFile = (name: string, description: string) => `---\nname: ${name}\ndescription: ${description}\n---\n# How`

describe('loadSkills', () => {
  it('returns name, description and absolute path of each skill, in the order of folders and names', async () => {
    const [user, project] = [await temporaryFolder(), await temporaryFolder()]
    await project.write('b/SKILL.md', skillFile('beta', 'Second'))
    const a = await project.write('a/SKILL.md', skillFile('alpha', 'First'))
    const c = await user.write('c/SKILL.md', skillFile('gamma', 'Of the user'))
    const skills = await loadSkills({ folders: [user.path, relative(process.cwd(), project.path)] })
    expect([...skills]).toEqual([
      { name: 'gamma', description: 'Of the user', location: c },
      { name: 'alpha', description: 'First', location: a },
      { name: 'beta', description: 'Second', location: `${project.path}/b/SKILL.md` },
    ])
    expect(skills.diagnostics).toEqual([])
  })

  it('skips files, and folders whose names begin with _ or a dot', async () => {
    const folder = await temporaryFolder()
    for (const name of ['_draft', '.hidden']) await folder.write(`${name}/SKILL.md`, skillFile('x', 'y'))
    await folder.write('README.md', 'x')
    const skills = await loadSkills({ folders: [folder.path] })
    expect([skills.length, skills.diagnostics]).toEqual([0, []])
  })

  it('follows links to folders', async () => {
    const [folder, elsewhere] = [await temporaryFolder(), await temporaryFolder()]
    await elsewhere.write('SKILL.md', skillFile('linked', 'x'))
    await symlink(elsewhere.path, `${folder.path}/link`)
    expect((await loadSkills({ folders: [folder.path] })).map(({ name }) => name)).toEqual(['linked'])
  })

  it('of two skills with one name the earlier folder wins, and the other one is a diagnostic', async () => {
    const [user, project] = [await temporaryFolder(), await temporaryFolder()]
    const winner = await user.write('pdf/SKILL.md', skillFile('pdf', 'of the user'))
    const loser = await project.write('pdf/SKILL.md', skillFile('pdf', 'of the project'))
    const skills = await loadSkills({ folders: [user.path, project.path] })
    expect(skills.map(({ description }) => description)).toEqual(['of the user'])
    expect(skills.diagnostics).toEqual([{ kind: 'skill', name: 'pdf', message: `${loser} is not used: ${winner} has the same name` }])
  })

  it('a skill with a mistake gives a diagnostic, and the other skills are loaded', async () => {
    const folder = await temporaryFolder()
    await folder.write('good/SKILL.md', skillFile('good', 'x'))
    await folder.write('headless/SKILL.md', '# How')
    await folder.write('nameless/SKILL.md', '---\ndescription: x\n---')
    await folder.write('silent/SKILL.md', '---\nname: x\ndescription:\n---')
    await folder.write('void/other.md', '')
    const skills = await loadSkills({ folders: [`${folder.path}/none`, folder.path] })
    expect(skills.map(({ name }) => name)).toEqual(['good'])
    expect(
      skills.diagnostics.map(({ kind, name, message }) => [kind, relative(folder.path, name), message.replace(folder.path, '')]),
    ).toEqual([
      ['file', 'none', expect.stringContaining('ENOENT')],
      ['skill', 'headless/SKILL.md', 'it does not begin with a head between two lines ---'],
      ['skill', 'nameless/SKILL.md', 'its head has no name'],
      ['skill', 'silent/SKILL.md', 'its head has no description'],
      ['skill', 'void/SKILL.md', '/void/SKILL.md cannot be read: it does not exist'],
    ])
  })

  it('reload returns a new list of the skills that are there now', async () => {
    const folder = await temporaryFolder()
    await folder.write('a/SKILL.md', skillFile('a', 'x'))
    const before = await loadSkills({ folders: [folder.path] })
    await folder.write('b/SKILL.md', skillFile('b', 'x'))
    const after = await before.reload()
    expect([before.length, after.length, Object.isFrozen(before)]).toEqual([1, 2, true])
  })

  it.each([{}, { folders: 'x' }, { folders: [1] }, { folders: [], other: 1 }])('%j is misuse', async (options) => {
    await expect(loadSkills(options as never)).rejects.toSatisfy((error) => AgentError.isInstance(error) && error.code === 'invalid-config')
  })
})
