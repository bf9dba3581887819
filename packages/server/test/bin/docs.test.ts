import { execFileSync, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../support/bench.ts'
import { bin, bundledAgents, servingCommand } from '../support/command.ts'

const page = readFileSync(new URL('../../../../docs/guides/server.md', import.meta.url), 'utf8')

function linesOf(form: RegExp): readonly string[] {
  return form.exec(page)?.[1]?.trim().split('\n') ?? []
}

it('V99: the lines of the page about the server run unchanged, including curl -N', async () => {
  const folder = temporaryFolder()
  const [create = '', check = ''] = linesOf(/```sh\n(npx bowline-server .*?)```/s)
  const environment = { ...process.env, NODE: process.execPath, BIN: bin(), BOWLINE_AGENTS: bundledAgents() }
  const npx = 'npx() { shift; "$NODE" --disable-warning=ExperimentalWarning "$BIN" "$@"; }'
  const run = (line: string) =>
    execFileSync('bash', ['-c', `${npx}\n${line}`], { cwd: folder, env: environment, encoding: 'utf8', stdio: 'pipe' })
  const [token = '', config = ''] = run(create).split('\n')
  writeFileSync(join(folder, 'bowline.config.json'), `{ "auth": { "tokens": [${config}] } }`)
  expect(run(check)).toContain('(acme)')

  const { url } = await servingCommand([], { folder, auth: 'file' })
  /** Returns the output of a command line, up to the first match of the form or to its end. */
  async function curl(line: string, form: RegExp): Promise<string> {
    const child = spawn('bash', ['-c', `exec ${line}`], {
      env: { ...environment, URL: url, TOKEN: token },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    let text = ''
    for await (const chunk of child.stdout.setEncoding('utf8')) {
      text += String(chunk)
      if (form.test(text)) break
    }
    return text
  }
  const [execute = '', read = '', attach = '', stop = '', ...rest] = linesOf(/```sh curl\n(.*?)```/s)
  expect(rest).toEqual([])
  expect(await curl(execute, /execute-complete.*\n\n/)).toMatch(/"type":"execute-complete","sessionId":"mine".*"status":"completed"/)
  expect(JSON.parse(await curl(read, /$never/))).toMatchObject({
    sessionId: 'mine',
    status: 'completed',
    messages: [{ role: 'user' }, { role: 'assistant' }],
  })
  const again = await curl(attach, /"type":"settled"/)
  expect(again).toContain('id: 6')
  expect(again).not.toContain('id: 5\n')
  expect(JSON.parse(await curl(stop, /$never/))).toMatchObject({ state: 'nothing-to-stop' })
})
