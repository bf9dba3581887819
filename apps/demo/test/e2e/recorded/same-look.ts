import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import pixelmatch from 'pixelmatch'
import { PNG } from 'pngjs'
import { expect } from 'vitest'

/** The accepted pictures, in the repository. */
const keptFolder = join(import.meta.dirname, '../screenshots')
/** The pictures of this run and their differences. CI publishes this folder. */
const drawnFolder = resolve(import.meta.dirname, '../../../../../node_modules/.cache/bowline/screenshots')

/** Each pixel of a kept picture is the mean of so many by so many: how a machine draws the edge of a letter does not matter. */
const scale = 2
/** The greatest difference of two colours, from 0 to 1, that still counts as the same pixel. */
const colourTolerance = 0.2
/**
 * So much of a picture may differ. If half of each pixel is that of its neighbour, it is 0.09 %; if one card has moved by two
 * pixels, 0.32 %.
 */
export const areaTolerance = 0.002

/** Writes what was drawn in place of what was kept: to be asked for by a person who has looked at it. */
const accepts = process.env.ACCEPT_SCREENSHOTS === '1'

/** Expects a screenshot to look as the kept one of this name. */
export async function expectSameLook(name: string, screenshot: Buffer): Promise<void> {
  await mkdir(drawnFolder, { recursive: true })
  await writeFile(join(drawnFolder, `${name}.png`), screenshot)
  const drawn = reduced(PNG.sync.read(screenshot))
  const file = join(keptFolder, `${name}.png`)
  if (accepts) {
    await mkdir(keptFolder, { recursive: true })
    return writeFile(file, PNG.sync.write(drawn))
  }
  const found = existsSync(file) ? differenceOf(PNG.sync.read(await readFile(file)), drawn) : undefined
  if (found) await writeFile(join(drawnFolder, `${name}.diff.png`), PNG.sync.write(found.picture))
  const share = found?.share ?? 1
  const advice = `${name} looks other than screenshots/${name}.png in ${(share * 100).toFixed(2)} % of its area. Look at ${join(drawnFolder, name)}.png and .diff.png; if it is meant, accept all: ACCEPT_SCREENSHOTS=1 npx vitest run --project demo-e2e looks`
  expect(share, advice).toBeLessThan(areaTolerance)
}

/** Returns how much of the picture differs, from 0 to 1, and a picture of where. Pictures of other sizes differ wholly. */
export function differenceOf(kept: PNG, drawn: PNG): { readonly share: number; readonly picture: PNG } {
  const { width, height } = drawn
  if (kept.width !== width || kept.height !== height) return { share: 1, picture: drawn }
  const picture = new PNG({ width, height })
  const count = pixelmatch(kept.data, drawn.data, picture.data, width, height, { threshold: colourTolerance })
  return { share: count / (width * height), picture }
}

/** Returns the picture at a part of its size, each pixel the mean of those that it stands for. */
export function reduced(picture: PNG): PNG {
  const width = Math.floor(picture.width / scale)
  const height = Math.floor(picture.height / scale)
  const small = new PNG({ width, height })
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      for (let channel = 0; channel < 4; channel++) small.data[(y * width + x) * 4 + channel] = meanOf(picture, x, y, channel)
    }
  }
  return small
}

function meanOf({ data, width }: PNG, x: number, y: number, channel: number): number {
  let sum = 0
  for (let place = 0; place < scale * scale; place++) {
    const [across, down] = [place % scale, Math.floor(place / scale)]
    sum += data[((y * scale + down) * width + x * scale + across) * 4 + channel] ?? 0
  }
  return Math.round(sum / (scale * scale))
}
