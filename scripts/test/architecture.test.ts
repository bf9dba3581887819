import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { layers } from '../../eslint.layers.js'
import { structure } from '../../structure.js'
import { root } from '../setup.mjs'

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

type Room = string | { readonly room: string; readonly holds: readonly string[] }

const roomsOf = (name: string): readonly (readonly Room[])[] =>
  ((structure as Readonly<Record<string, readonly (Room | readonly Room[])[]>>)[name] ?? []).map((level) =>
    Array.isArray(level) ? (level as readonly Room[]) : [level as Room],
  )
const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
const names = readdirSync(join(root, 'packages')).sort()

/** The lines of the drawing with this name. */
function drawing(name: string): readonly string[] {
  const [, body = ''] = new RegExp(`^\`\`\`text ${name}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(page) ?? []
  return body.trimEnd().split('\n')
}

const words = (text: string): readonly string[] => text.split(/[\s,]+/).filter((word) => word !== '')
const manifestOf = (name: string) => JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8')) as Manifest
const isOurs = (name: string): boolean => name.startsWith('@bowline/')

describe('docs/architecture.md', () => {
  const drawn = drawing('layers').map((line) => line.split('─►').map((side) => side.trim()))
  const order = drawn.map(([name = '']) => name)

  it('draws every package above all packages that it imports', () => {
    expect(order.toSorted()).toEqual(names)
    for (const [place, [, below = '']] of drawn.entries()) {
      if (below === 'nothing of ours') continue
      for (const name of words(below)) expect(order.indexOf(name.replace('*', '')), name).toBeGreaterThan(place)
    }
  })

  it.each(names)('draws the imports of %s as in package.json and the layer table', (name) => {
    const [, below = ''] = drawn.find(([drawnName]) => drawnName === name) ?? []
    const imports = below === 'nothing of ours' ? [] : words(below)
    expect(imports.map((one) => `@bowline/${one.replace('*', '')}`).toSorted()).toEqual(
      Object.keys(manifestOf(name).dependencies ?? {})
        .filter(isOurs)
        .toSorted(),
    )
    expect(imports.filter((one) => !one.endsWith('*')).toSorted()).toEqual([...(layers[name]?.packages ?? [])].toSorted())
  })

  it.each(names)('lists the libraries of %s', (name) => {
    const cell = new RegExp(`^\\| \`${name}\` \\|[^|]*\\|([^|]*)\\|$`, 'm').exec(page)?.[1] ?? ''
    const [libraries = '', peers = ''] = cell.split('; peers ')
    const named = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, library = '']) => library).toSorted()
    const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = manifestOf(name)
    expect(named(libraries)).toEqual(
      Object.keys(dependencies)
        .filter((library) => !isOurs(library))
        .toSorted(),
    )
    expect(named(peers)).toEqual(
      Object.keys(peerDependencies)
        .filter((peer) => peerDependenciesMeta[peer]?.optional !== true)
        .toSorted(),
    )
  })

  it.each(names)('draws the rooms of %s in the order of structure.js, each with its purpose', (name) => {
    const levels = roomsOf(name).map((level) => level.map((room) => (typeof room === 'string' ? room : room.room)))
    const lines = drawing(`rooms of ${name}`).map((line) => /^(\S+(?: \S+)*) {2,}(\S.*)$/.exec(line) ?? [])
    expect(lines.every(({ length }) => length === 3)).toBe(true)
    const rooms = lines.map(([, left = '']) => left.split(' | '))
    const folders = rooms.map((level) =>
      level.flatMap((room) =>
        room.endsWith('/*')
          ? readdirSync(join(root, 'packages', name, 'src', room.slice(0, -2))).map((feature) => room.replace('*', feature))
          : [room],
      ),
    )
    expect(folders.map((level) => level.toSorted())).toEqual(levels.map((level) => level.toSorted()).toReversed())
  })

  it.each(names)('leaves out no folder or file of %s', (name) => {
    const held = roomsOf(name)
      .flat()
      .flatMap((room) => (typeof room === 'string' ? [room.replace(/\/.*/, '')] : room.holds))
    expect(new Set(held)).toEqual(new Set(readdirSync(join(root, 'packages', name, 'src'))))
  })

  it('names only existing files and folders', () => {
    for (const [, file = ''] of page.matchAll(/`((?:scripts|apps)\/[\w./-]+|(?:structure|eslint\.layers)\.js)`/g))
      expect(existsSync(join(root, file)), file).toBe(true)
  })
})
