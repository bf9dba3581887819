// node scripts/release.mjs: rehearses a release. Versions, builds and publishes a copy of the workspace to a local registry, with
// the commands of .github/workflows/release.yml, and installs from there like users. All files are in a temporary folder.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join, relative } from 'node:path'
import { publishedPackages } from './packages.mjs'
import { startRegistry } from './release-registry.mjs'
import { addChangeset, copyWorkspace, manifestOf } from './release-workspace.mjs'
import { run as runAndWait } from './run.mjs'
import { nodeBinary, root } from './setup.mjs'

/** Version that is installed if the machine has none. */
const bunVersion = '1.4.5'

const packages = publishedPackages()
const names = packages.map(({ name }) => name).sort()
const counts = { passed: 0, failed: 0, skipped: 0 }
const folder = mkdtempSync(join(tmpdir(), 'bowline-release-'))
const workspace = join(folder, 'workspace')
// Read before the environment is cleared: `npm test` passes the settings of npm as variables.
const upstream = runAndWait('npm', ['config', 'get', 'registry']).trim()
const cafile = runAndWait('npm', ['config', 'get', 'cafile']).trim()
const env = environment()
const registry = await startRegistry(join(folder, 'registry'))
try {
  // Other packages come from the usual registry: through the local one they would take five times the time.
  const others = existsSync(cafile) ? `registry=${upstream}\ncafile=${cafile}\n` : `registry=${upstream}\n`
  writeFileSync(join(folder, '.npmrc'), `${registry.npmrc}${others}update-notifier=false\naudit=false\nfund=false\n`)
  await rehearse()
} finally {
  await registry.close()
  rmSync(folder, { recursive: true, force: true })
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`)
process.exit(counts.failed > 0 ? 1 : 0)

async function rehearse() {
  copyWorkspace(workspace)
  await git('init', '--quiet', '--initial-branch=main')
  await commit('The workspace')
  if (!(await step('D48: the changesets give every package its next version and a CHANGELOG', versionAll))) return
  if (!(await step('D48: the release publishes every package and tags it', publishAll))) return
  await step('D51: published manifests name versions and built files only', checkPublished)
  if (!(await step('D48: a patch releases its package alone, and its dependents accept it', releasePatch))) return
  await Promise.all([
    step('D50: npm installs from the registry and every entry runs', () => installWith('npm', ['install', '--ignore-scripts'])),
    step('D50: pnpm installs from the registry and every entry runs', () => installWith('pnpm', ['install', '--ignore-scripts'])),
    installWithBun('D50: bun installs from the registry and every entry runs'),
    step('D50: npx gets the studio from the registry and runs its command', runStudio),
  ])
  await step('S208: a store of another version of sessions is refused with both versions', meetOtherVersion)
  await step('D48: a minor releases its package and everything that depends on it', planMinor)
}

async function versionAll() {
  const before = versions()
  const due = await releasesDue()
  for (const name of names) if (before[name] === '0.0.0') assert.equal(due[name], '0.1.0', `the first version of ${name}`)
  if (Object.keys(due).length > 0) await changeset('version')
  assert.deepEqual(versions(), { ...before, ...due })
  for (const { name } of packages) {
    const changelog = readFileSync(join(copyOf(name), 'CHANGELOG.md'), 'utf8')
    assert.ok(changelog.includes(`## ${versions()[name]}\n`), `the CHANGELOG of ${name} has no entry for ${versions()[name]}`)
  }
  await commit('Version Packages')
}

async function publishAll() {
  await buildWhatHoldsItsVersion(names)
  await changeset('publish')
  for (const [name, version] of Object.entries(versions())) assert.deepEqual(await publishedVersions(name), [version], name)
  assert.deepEqual(
    (await git('tag')).trim().split('\n').sort(),
    Object.entries(versions())
      .map(([name, version]) => `${name}@${version}`)
      .sort(),
  )
}

async function checkPublished() {
  for (const [name, version] of Object.entries(versions())) {
    const manifest = (await metadata(name)).versions[version]
    assert.ok(!/"(?:workspace|catalog):/.test(JSON.stringify(manifest)), `${name} names a workspace or catalog range`)
    assert.ok(!JSON.stringify([manifest.exports, manifest.bin]).includes('/src/'), `${name} exports a source file`)
    assert.equal(
      manifest.scripts?.install ?? manifest.scripts?.preinstall ?? manifest.scripts?.postinstall,
      undefined,
      `${name} runs a script at install`,
    )
    assert.equal(manifest.publishConfig.provenance, true, `${name} is published without provenance`)
    for (const [other, range] of Object.entries({ ...manifest.dependencies, ...manifest.peerDependencies })) {
      if (names.includes(other)) assert.equal(range, `^${versions()[other]}`, `${name} depends on ${other}`)
    }
  }
}

async function releasePatch() {
  const before = versions()
  addChangeset(workspace, '@bowline/agent-loop', 'patch', 'A fix.')
  await changeset('version')
  const after = versions()
  assert.deepEqual(changed(before, after), ['@bowline/agent-loop'])
  assert.match(readFileSync(join(copyOf('@bowline/agent-loop'), 'CHANGELOG.md'), 'utf8'), /### Patch Changes\n\n- (?:[\da-f]+: )?A fix\./)
  await commit('Version Packages')
  await buildWhatHoldsItsVersion(changed(before, after))
  await changeset('publish')
  for (const name of names) {
    const expected = before[name] === after[name] ? [after[name]] : [before[name], after[name]]
    assert.deepEqual(await publishedVersions(name), expected, name)
  }
}

/** Changes the versions without publishing: the manifests show them. */
async function planMinor() {
  const before = versions()
  addChangeset(workspace, '@bowline/agent-loop', 'minor', 'A feature.')
  await changeset('version')
  assert.deepEqual(
    changed(before, versions()),
    names.filter((name) => [name, ...Object.keys(manifestOf(copyOf(name)).dependencies ?? {})].includes('@bowline/agent-loop')),
  )
}

/**
 * @param {string} manager
 * @param {readonly string[]} install
 */
async function installWith(manager, install) {
  const project = join(folder, `project-${basename(manager)}`)
  mkdirSync(project)
  // Range of the first release, so that the installation must find the later patch.
  const ours = Object.fromEntries(names.map((name) => [name, `^${versions()[name]?.replace(/\.\d+$/, '.0')}`]))
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies: { ...peers(), ...ours } }))
  copyFileSync(join(folder, '.npmrc'), join(project, '.npmrc'))
  copyFileSync(join(root, 'scripts/smoke/use-packages.mjs'), join(project, 'use-packages.mjs'))
  await execute(manager, install, project)
  for (const name of names) {
    const installed = join(project, 'node_modules', name)
    assert.equal(manifestOf(installed).version, versions()[name], `${manager} installed another ${name}`)
    assert.ok(existsSync(join(installed, 'CHANGELOG.md')), `${name} has no CHANGELOG`)
  }
  await execute(nodeBinary, ['use-packages.mjs', ...packages.flatMap(({ entries }) => entries)], project)
  const bridge = join(project, 'node_modules/.bin/bowline-bridge')
  assert.equal((await execute(bridge, ['--version'], project)).trim(), versions()['@bowline/bridge'], 'bowline-bridge --version')
}

/**
 * Installs with the bun of this machine, else with the one that npm can install.
 *
 * @param {string} title
 */
async function installWithBun(title) {
  const works = (/** @type {string} */ bun) =>
    execute(bun, ['--version'], folder).then(
      () => true,
      () => false,
    )
  const fetch = () => execute('npm', ['install', '--prefix', join(folder, 'bun'), '--ignore-scripts', `bun@${bunVersion}`], folder)
  if (!(await works('bun'))) await fetch().catch(() => undefined)
  // The npm package links its binary with a script. Scripts are disabled here, so the binary is called in its folder.
  for (const bun of ['bun', ...globSync(join(folder, 'bun/node_modules/@oven/*/bin/bun'))]) {
    if (await works(bun)) return step(title, () => installWith(bun, ['install', '--ignore-scripts']))
  }
  return skip(title, 'there is no bun on this machine, and npm gets none that runs')
}

/**
 * Builds the packages whose bundle contains their version, because their code imports the manifest. All other bundles are those of
 * the `build` gate.
 *
 * @param {readonly string[]} released
 */
async function buildWhatHoldsItsVersion(released) {
  for (const name of released) {
    const bundles = globSync('dist/**/*.js', { cwd: copyOf(name) }).map((file) => readFileSync(join(copyOf(name), file), 'utf8'))
    if (bundles.some((text) => text.includes(`name: "${name}", version: `))) await execute('tsup', ['--silent'], copyOf(name))
  }
}

/** Gives a store to a runtime of another copy of sessions, which a dependency may have brought. */
async function meetOtherVersion() {
  const project = join(folder, 'project-npm')
  const nested = 'node_modules/dependency/node_modules/@bowline/sessions'
  cpSync(join(project, 'node_modules/@bowline/sessions'), join(project, nested), { recursive: true })
  const version = versions()['@bowline/sessions']
  for (const file of globSync(`${nested}/dist/**/*.js`, { cwd: project })) {
    const text = readFileSync(join(project, file), 'utf8')
    writeFileSync(
      join(project, file),
      text.replace(`name: "@bowline/sessions", version: "${version}"`, 'name: "@bowline/sessions", version: "99.1.2"'),
    )
  }
  const program = `
    import { defineAgent } from '@bowline/agent-loop'
    import { scriptedModel } from '@bowline/llm/testing'
    import { createRuntime } from '@bowline/sessions'
    import { memoryStore } from './${nested}/dist/memory.js'
    createRuntime({ agents: [defineAgent({ name: 'assistant', model: scriptedModel([]) })], store: memoryStore() })
  `
  await assert.rejects(execute(nodeBinary, ['--input-type=module', '--eval', program], project), (/** @type {Error} */ { message }) =>
    message.includes(`store was made with @bowline/sessions 99.1.2, but @bowline/sessions ${version} is used here`),
  )
}

/** Runs the command of the studio like a user who has installed nothing. */
async function runStudio() {
  const project = join(folder, 'project-npx')
  mkdirSync(project)
  assert.match(await execute('npx', ['--yes', '@bowline/studio', '--help'], project), /^bowline-studio --server URL/m)
}

/** @returns {Promise<Record<string, string>>} the next version of each package that has a changeset */
async function releasesDue() {
  if (globSync('.changeset/*.md', { cwd: workspace }).length === 0) return {}
  await changeset('status', '--output', 'status.json')
  /** @type {{ releases: { name: string, newVersion: string }[] }} */
  const { releases } = JSON.parse(readFileSync(join(workspace, 'status.json'), 'utf8'))
  rmSync(join(workspace, 'status.json'))
  return Object.fromEntries(releases.filter(({ name }) => names.includes(name)).map(({ name, newVersion }) => [name, newVersion]))
}

/** @returns {Record<string, string>} */
function versions() {
  return Object.fromEntries(names.map((name) => [name, manifestOf(copyOf(name)).version]))
}

/**
 * @param {Record<string, string>} before
 * @param {Record<string, string>} after
 */
function changed(before, after) {
  return names.filter((name) => before[name] !== after[name])
}

/** @param {string} name */
function copyOf(name) {
  return join(workspace, relative(root, packages.find((each) => each.name === name)?.folder ?? ''))
}

/** @param {string} name */
async function metadata(name) {
  const response = await fetch(`${registry.url}${name.replace('/', '%2f')}`)
  assert.equal(response.status, 200, `${name} at the registry`)
  return /** @type {{ versions: Record<string, any> }} */ (await response.json())
}

/** @param {string} name */
async function publishedVersions(name) {
  return Object.keys((await metadata(name)).versions).sort()
}

/** Returns the peer dependencies in the versions with which this repository is tested. */
function peers() {
  const versionOf = (/** @type {string} */ path) => manifestOf(join(root, path)).version
  return {
    ai: versionOf('apps/demo/node_modules/ai'),
    zod: versionOf('apps/demo/node_modules/zod'),
    react: versionOf('apps/studio/node_modules/react'),
    '@agentclientprotocol/sdk': versionOf('packages/bridge/node_modules/@agentclientprotocol/sdk'),
    '@modelcontextprotocol/server': versionOf('packages/bridge/node_modules/@modelcontextprotocol/server'),
  }
}

/** @param {readonly string[]} args */
function changeset(...args) {
  return execute('changeset', args, workspace)
}

/** @param {readonly string[]} args */
function git(...args) {
  return execute('git', args, workspace)
}

/** @param {string} message */
async function commit(message) {
  await git('add', '--all')
  await git('commit', '--quiet', '--no-gpg-sign', '--message', message)
}

/**
 * @param {string} title
 * @param {() => Promise<void>} body
 * @returns {Promise<boolean>} whether it has passed
 */
async function step(title, body) {
  const startedAt = Date.now()
  try {
    await body()
    counts.passed += 1
    console.log(`✓ ${title} (${((Date.now() - startedAt) / 1000).toFixed(1)} s)`)
    return true
  } catch (error) {
    counts.failed += 1
    console.log(`✗ ${title}\n${error instanceof Error ? error.message : String(error)}`)
    return false
  }
}

/**
 * @param {string} title
 * @param {string} reason
 */
function skip(title, reason) {
  counts.skipped += 1
  console.log(`- ${title}: skipped, because ${reason}`)
}

/**
 * Runs a program. Resolves with its output, and rejects with it if the program fails. It is asynchronous, so that the registry can
 * answer meanwhile.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {string} cwd
 * @returns {Promise<string>}
 */
function execute(command, args, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text) => (output += text))
    child.stderr.setEncoding('utf8').on('data', (text) => (output += text))
    child.on('error', reject)
    child.on('close', (code) =>
      code === 0 ? resolve(output) : reject(new Error(`${command} ${args.join(' ')} ended with ${code}:\n${output}`)),
    )
  })
}

/** Returns an environment in which programs use no settings, caches or credentials of the user. */
function environment() {
  const kept = Object.entries(process.env).filter(([name]) => !/^p?npm_|^ACTIONS_|TOKEN|^XDG_|^GIT_(?!SSL)|^BUN_/i.test(name))
  return {
    ...Object.fromEntries(kept),
    HOME: folder,
    NPM_CONFIG_USERCONFIG: join(folder, '.npmrc'),
    NPM_CONFIG_CACHE: join(folder, 'npm-cache'),
    // Only the workflow can sign packages.
    NPM_CONFIG_PROVENANCE: 'false',
    PNPM_CONFIG_PROVENANCE: 'false',
    // By default pnpm refuses versions of the last day.
    PNPM_CONFIG_MINIMUM_RELEASE_AGE: '0',
    // The copy links what the repository has installed: an installation of the copy would change that.
    PNPM_CONFIG_VERIFY_DEPS_BEFORE_RUN: 'false',
    BUN_INSTALL_CACHE_DIR: join(folder, 'bun-cache'),
    GIT_CONFIG_GLOBAL: '/dev/null',
    ...Object.fromEntries(
      ['AUTHOR', 'COMMITTER'].flatMap((who) => [
        [`GIT_${who}_NAME`, 'Rehearsal'],
        [`GIT_${who}_EMAIL`, 'rehearsal@localhost'],
      ]),
    ),
    // npm is a script that uses the first `node` on the path.
    PATH: [dirname(nodeBinary), join(root, 'node_modules/.bin'), process.env['PATH'] ?? ''].join(delimiter),
  }
}
