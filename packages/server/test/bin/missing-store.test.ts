import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

/** Prints the error of a process in which the package of the store is not installed. */
const script = `
  import { registerHooks } from 'node:module'
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier !== '@bowline/postgres') return next(specifier, context)
      throw Object.assign(new Error('not installed'), { code: 'ERR_MODULE_NOT_FOUND' })
    },
  })
  const { createStore } = await import('./src/bin/create-store.ts')
  await createStore({ kind: 'postgres', connectionString: 'postgres://127.0.0.1:1/none' }, () => {}).catch(({ message }) => console.log(message))`

it('V86: a Postgres store without its package is an error that names the package', async () => {
  const args = ['--input-type=module', '--disable-warning=ExperimentalWarning', '--eval', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: join(import.meta.dirname, '../..') })
  expect(stdout).toContain('needs the package @bowline/postgres; run: npm install @bowline/postgres pg\n')
})
