import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import pixelmatch from 'pixelmatch'
import { PNG } from 'pngjs'
import { expect } from 'vitest'

/** Accepted screenshots in the repository. */
const keptFolder = join(import.meta.dirname, '../screenshots')
/** Screenshots of this run and their differences. CI publishes this folder. */
const drawnFolder = resolve(import.meta.dirname, '../../../../../node_modules/.cache/bowline/screenshots')

/** Each stored pixel is the mean of a square of this size, so that anti-aliasing does not matter. */
const scale = 2
/** Maximum difference of two colours, from 0 to 1, that counts as equal. */
const colourTolerance = 0.2
/**
 * Maximum share of a picture that may differ. If each pixel has half of its neighbour, the share is 0.09 %. If a card has moved by
 * two pixels, it is 0.32 %.
 */
export const areaTolerance = 0.002

/** Replaces the stored screenshots by the new ones. Only to be set by a person who has checked them. */
const accepts = process.env.ACCEPT_SCREENSHOTS === '1'

/** Expects that a screenshot equals the stored one of this name. */
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

/**
 * Returns the share of the picture that differs, from 0 to 1, and a picture of the differences. For different sizes the share is 1.
 */
export function differenceOf(kept: PNG, drawn: PNG): { readonly share: number; readonly picture: PNG } {
  const { width, height } = drawn
  if (kept.width !== width || kept.height !== height) return { share: 1, picture: drawn }
  const picture = new PNG({ width, height })
  const count = pixelmatch(kept.data, drawn.data, picture.data, width, height, { threshold: colourTolerance })
  return { share: count / (width * height), picture }
}

/** Returns the picture at reduced size. Each pixel is the mean of the pixels that it replaces. */
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
