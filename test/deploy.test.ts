// Files for deployments: image, compose files, Kubernetes manifests, the service of systemd; and the workflow of the
// hosted CI. They are read here; docs/operations.md says what was run.

import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { notesOf, withAbsoluteLinks } from '../scripts/release-notes.mjs'
import { settings } from '../src/settings.ts'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

type Service = {
  readonly environment?: Readonly<Record<string, string>>
  readonly depends_on?: Readonly<Record<string, object>>
  readonly ports?: readonly string[]
  readonly profiles?: readonly string[]
  readonly volumes?: readonly string[]
  readonly command?: readonly string[]
  readonly read_only?: boolean
}

it('the compose file names services that there are, holds no secret, and publishes on this machine alone', () => {
  const file = parse(read('docker-compose.yml'), { merge: true }) as {
    services: Record<string, Service>
    volumes: Record<string, null>
  }
  const { services } = file
  expect(Object.keys(services)).toEqual(['postgres', 'redis', 'migrate', 'worker', 'sandbox', 'prometheus', 'grafana'])
  for (const [name, service] of Object.entries(services)) {
    for (const needed of Object.keys(service.depends_on ?? {})) expect(services, name).toHaveProperty(needed)
    for (const port of service.ports ?? []) expect(port, name).toMatch(/^127\.0\.0\.1:/)
    for (const [variable, value] of Object.entries(service.environment ?? {}))
      if (/PASSWORD|TOKEN|DATABASE_URL/.test(variable)) expect(value, variable).toMatch(/\$\{[A-Z_]+:[?-]/)
    for (const volume of service.volumes ?? []) {
      const [source = ''] = volume.split(':')
      if (source.startsWith('./'))
        expect(() => readFileSync(new URL(`../${source}`, import.meta.url))).toThrow(/EISDIR/)
      else expect(file.volumes, name).toHaveProperty(source)
    }
  }
  for (const name of ['migrate', 'worker', 'sandbox']) expect(services[name]?.read_only, name).toBe(true)
  expect(services.migrate?.command).toEqual(['migrate'])
})

it('the file for a Postgres of your own demands what has no default, and publishes on this machine alone', () => {
  const { services } = parse(read('deploy/compose.own-database.yml'), { merge: true }) as {
    services: Record<string, Service>
  }
  expect(Object.keys(services)).toEqual(['migrate', 'worker'])
  for (const { environment, read_only } of Object.values(services)) {
    expect(environment?.DATABASE_URL).toMatch(/^\$\{DATABASE_URL:\?/)
    expect(environment?.API_BASE_URL).toMatch(/^\$\{API_BASE_URL:\?/)
    expect(read_only).toBe(true)
  }
  expect(services.worker?.environment?.ADMIN_TOKEN).toMatch(/^\$\{ADMIN_TOKEN:\?/)
  for (const port of services.worker?.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/)
})

it('the manifests and the newest release of CHANGELOG.md have the version of the package', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string }
  const images = [...read('deploy/kubernetes/boat-mirror.yaml').matchAll(/image: boat-mirror:(.+)/g)]
  expect(images.map(([, tag]) => tag)).toEqual([version, version])
  expect(/^## \[(\d.*)\] - \d{4}-\d{2}-\d{2}$/m.exec(read('CHANGELOG.md'))?.[1]).toBe(version)
})

it('the variables of the compose files are settings', () => {
  const names = new Set(Object.values(settings).map(({ name }) => name))
  for (const file of ['docker-compose.yml', 'deploy/compose.own-database.yml']) {
    const { services } = parse(read(file), { merge: true }) as { services: Record<string, Service> }
    for (const variable of Object.keys(services.worker?.environment ?? {})) expect(names, file).toContain(variable)
  }
})

it('the Kubernetes manifests migrate once, probe what is answered without a token, and need no privilege', () => {
  type Container = {
    readonly args: readonly string[]
    readonly livenessProbe?: { readonly httpGet: { readonly path: string } }
    readonly readinessProbe?: { readonly httpGet: { readonly path: string } }
    readonly envFrom: readonly Readonly<Record<string, { readonly name: string }>>[]
    readonly securityContext: object
  }
  const documents = parseAllDocuments(read('deploy/kubernetes/boat-mirror.yaml')).map((document) => document.toJS())
  const kinds = Object.fromEntries(documents.map((document) => [document.kind, document]))
  expect(Object.keys(kinds)).toEqual(['Secret', 'ConfigMap', 'Job', 'Deployment', 'Service'])
  const pods = { migrate: kinds.Job.spec.template.spec, worker: kinds.Deployment.spec.template.spec }
  for (const [command, pod] of Object.entries(pods)) {
    const [container] = pod.containers as readonly Container[]
    expect(container?.args).toEqual([command])
    expect(container?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(pod.securityContext.runAsNonRoot).toBe(true)
    // Kubernetes would set BOAT_MIRROR_PORT and the like of every service there is.
    expect(pod.enableServiceLinks).toBe(false)
    expect(container?.envFrom.flatMap((source) => Object.values(source).map(({ name }) => name))).toEqual([
      kinds.ConfigMap.metadata.name,
      kinds.Secret.metadata.name,
    ])
  }
  const [worker] = pods.worker.containers as readonly Container[]
  expect(worker?.livenessProbe?.httpGet.path).toBe('/healthz')
  expect(worker?.readinessProbe?.httpGet.path).toBe('/readyz')
  const names = new Set(Object.values(settings).map(({ name }) => name))
  for (const variable of [...Object.keys(kinds.ConfigMap.data), ...Object.keys(kinds.Secret.stringData)])
    expect(names).toContain(variable)
})

it('the service of systemd ends by SIGTERM, and is not started again with wrong settings', () => {
  const unit = read('deploy/systemd/boat-mirror.service').split('\n')
  expect(unit).toContain('KillSignal=SIGTERM')
  expect(unit).toContain('RestartPreventExitStatus=2')
  expect(unit).toContain('DynamicUser=yes')
  const program = /node (\S+) worker/.exec(unit.find((line) => line.startsWith('ExecStart=')) ?? '')?.[1]
  const { bin } = JSON.parse(read('package.json')) as { bin: Record<string, string> }
  expect(program).toBe(bin['boat-mirror'])
})

it('the image runs unprivileged, is checked for health and gets its signals', () => {
  const lines = read('Dockerfile').split('\n')
  const stage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')))
  const user = stage.find((line) => line.startsWith('USER '))
  expect(user).toMatch(/^USER [1-9]\d*:[1-9]\d*$/)
  expect(stage.some((line) => line.startsWith('HEALTHCHECK'))).toBe(true)
  expect(stage).toContain('ENTRYPOINT ["boat-mirror"]')
})

it('whatever the image copies exists and is let through to its build', () => {
  const letThrough = read('.dockerignore').split('\n')
  const copied = read('Dockerfile')
    .split('\n')
    .filter((line) => /^COPY (?!--from)/.test(line))
    .flatMap((line) => line.split(' ').slice(1, -1))
  expect(copied).toContain('src')
  for (const path of copied) {
    expect(existsSync(new URL(`../${path}`, import.meta.url)), path).toBe(true)
    expect(letThrough, path).toContain(`!${path.split('/')[0]}`)
  }
})

type Step = { readonly uses?: string; readonly run?: string; readonly with?: Readonly<Record<string, unknown>> }
type Job = {
  readonly needs?: string
  readonly uses?: string
  readonly environment?: string
  readonly permissions?: Readonly<Record<string, string>>
  readonly container?: { readonly image: string; readonly options: string }
  readonly strategy?: { readonly matrix: { readonly node: readonly string[] } }
  readonly 'timeout-minutes'?: number
  readonly steps?: readonly Step[]
}
type Workflow = { readonly permissions: object; readonly jobs: Readonly<Record<string, Job>> }
const workflow = (name: string): Workflow => parse(read(`.github/workflows/${name}`)) as Workflow
const commandsOf = ({ steps = [] }: Job): readonly string[] => steps.flatMap(({ run }) => run ?? [])
const nodeOf = ({ steps = [] }: Job): unknown =>
  steps.find(({ uses }) => uses?.startsWith('actions/setup-node@'))?.with?.['node-version']

it('the workflow runs the gate as root on Debian, on the oldest Node that is supported and on those with fixes', () => {
  const { permissions, jobs } = workflow('ci.yml')
  expect(permissions).toEqual({ contents: 'read' })
  expect(Object.keys(jobs)).toEqual(['gate'])
  const { gate = {} } = jobs
  const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } }
  expect(gate.strategy?.matrix.node).toEqual([engines.node.replace('>=', ''), '22', '24'])
  // The gate's apt needs a root; orphans of killed processes need a first process that reaps them.
  expect(gate.container?.image).toMatch(/^buildpack-deps:[a-z]+$/)
  expect(gate.container?.options).toBe('--init')
  const [minutes] = /(?<=^limit_seconds=\$\(\()\d+(?= \* 60\)\)$)/m.exec(read('.ci/run')) ?? []
  expect(gate['timeout-minutes']).toBeGreaterThan(Number(minutes))
  expect(nodeOf(gate)).toBe(`\${{ matrix.node }}`)
  expect(commandsOf(gate)).toEqual(['.ci/run'])
  for (const command of commandsOf(gate)) accessSync(new URL(`../${command}`, import.meta.url), constants.X_OK)
})

it('the workflow of a release publishes without a token, after the gate, and each job may do its own part only', () => {
  const { permissions, jobs } = workflow('release.yml')
  expect(permissions).toEqual({ contents: 'read' })
  expect(Object.entries(jobs).map(([name, { needs }]) => [name, needs])).toEqual([
    ['gate', undefined],
    ['package', 'gate'],
    ['image', 'package'],
    ['notes', 'image'],
  ])
  expect(jobs.gate?.uses).toBe('./.github/workflows/ci.yml')
  expect(jobs.package).toMatchObject({ environment: 'npm', permissions: { contents: 'read', 'id-token': 'write' } })
  expect(nodeOf(jobs.package ?? {})).toBe(24)
  const [install, check, publish] = commandsOf(jobs.package ?? {})
  expect(install).toBe('npm ci')
  expect(check).toBe('npm run release:check -- "$GITHUB_REF_NAME"')
  expect(publish).toMatch(/^npm publish --provenance /)
  expect(read('.github/workflows/release.yml')).not.toContain('secrets.')
  const build = jobs.image?.steps?.find(({ uses }) => uses?.startsWith('docker/build-push-action@'))?.with
  expect(build).toMatchObject({ platforms: 'linux/amd64,linux/arm64', sbom: true, provenance: 'mode=max' })
  const needed = [...read('Dockerfile').matchAll(/^ARG (\w+)=/gm)].map(([, name]) => name)
  const given = [...String(build?.['build-args']).matchAll(/^(\w+)=/gm)].map(([, name]) => name)
  expect(given).toEqual(needed)
  expect(jobs.image?.permissions).toEqual({
    contents: 'read',
    packages: 'write',
    'id-token': 'write',
    attestations: 'write',
  })
  expect(jobs.notes?.permissions).toEqual({ contents: 'write' })
})

it.each(['ci.yml', 'release.yml'])('%s takes actions of others by commit, and keeps no credentials', (name) => {
  const text = read(`.github/workflows/${name}`)
  for (const [, used = '', comment = ''] of text.matchAll(/uses: ([^.\s]\S*)(.*)/g)) {
    expect(used).toMatch(/^[a-z]+\/[a-z-]+@[0-9a-f]{40}$/)
    expect(comment, used).toMatch(/^ # v\d+\.\d+\.\d+$/)
  }
  const steps = Object.values(workflow(name).jobs).flatMap((job) => job.steps ?? [])
  for (const { uses, with: options } of steps)
    if (uses?.startsWith('actions/checkout@')) expect(options).toEqual({ 'persist-credentials': false })
})

it('the bot for dependencies watches packages, actions and images, and leaves back only packages that are used', () => {
  type Update = {
    readonly 'package-ecosystem': string
    readonly ignore?: readonly { readonly 'dependency-name': string }[]
  }
  const { updates } = parse(read('.github/dependabot.yml')) as { updates: readonly Update[] }
  const watched = updates.map((update) => update['package-ecosystem'])
  expect(watched).toEqual(['npm', 'github-actions', 'docker', 'docker-compose'])
  const { dependencies, devDependencies } = JSON.parse(read('package.json')) as Record<string, object>
  for (const ignored of updates.flatMap(({ ignore = [] }) => ignore))
    expect({ ...dependencies, ...devDependencies }).toHaveProperty([ignored['dependency-name']])
})

it('the notes of a release are its section of CHANGELOG.md, with links that can be followed from elsewhere', () => {
  const changelog =
    '# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2027-01-02\n\n- [a](docs/feed.md#b)\n\n## [1.1.0] - x\n\nold\n'
  expect(notesOf(changelog, 'Unreleased')).toBe('')
  expect(notesOf(changelog, '1.1.0')).toBe('old')
  expect(notesOf(changelog, '1.1')).toBe('')
  expect(withAbsoluteLinks(notesOf(changelog, '1.2.0'), 'https://example.com/v1.2.0')).toBe(
    '- [a](https://example.com/v1.2.0/docs/feed.md#b)',
  )
})

it('a packed copy has no script that runs, or is warned of, where it is installed', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  for (const name of ['preinstall', 'install', 'postinstall', 'prepare']) expect(scripts).not.toHaveProperty(name)
  expect(scripts.postprepare).toBe('npm run build')
})
