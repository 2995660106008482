// Another installer: docs/pick.md in JavaScript, without a look at the Python. Reads vectors.json, prints its answers.
import { readFileSync } from "node:fs";

const INTEGRATED = new Set([53, 62, 72, 87, 88, 101, 110]);
const BASES = ["proven", "rehearsed", "inferred", "assumed", "waived"];
const WEIGHTS = { driver: 1, glibc: 5, unrecorded: 10, retired: 15, sm: 20, failed: 20, gpu: 20, platform: 100 };

const parts = (version) => (version ? version.split(".").map(Number) : []);
const compare = (a, b) => {
  if (!Array.isArray(a)) return a < b ? -1 : a > b ? 1 : 0;
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const order = compare(a[i] ?? 0, b[i] ?? 0);
    if (order) return order;
  }
  return 0;
};
const least = (items, key) => items.map((item) => [key(item), item]).sort(([a], [b]) => compare(a, b))[0]?.[1];
const highest = (versions) => versions.filter(Boolean).sort((a, b) => compare(parts(b), parts(a)))[0];
const newestFirst = (toolkit) => [0, 1, 2].map((i) => -(parts(toolkit)[i] ?? 0));

function runs(arch, virtual, sm) { // step 2
  const number = parseInt(arch);
  if (number === sm) return true;
  if (String(number) !== arch || number > sm) return false;
  const crosses = INTEGRATED.has(number) !== INTEGRATED.has(sm) || INTEGRATED.has(number);
  return virtual || (Math.floor(number / 10) === Math.floor(sm / 10) && !crosses);
}

function rowOf(asset, sm) { // step 2
  const rows = asset.serves?.gpus ?? [], inferred = asset.minimum_driver.inferred;
  const row = rows.find((each) => each.sm === String(sm));
  if (row) return { served: row.served, driver: row.minimum_driver, last: row.last_branch, recorded: true };
  let served = asset.archs.real.some((arch) => runs(arch, false, sm)) ? "native"
    : asset.archs.virtual.some((arch) => runs(arch, true, sm)) ? "jit" : "none";
  if (sm in inferred) {
    const driver = inferred[sm];
    served = driver === null ? "unknown" : served === "none" ? "native" : served;
    return { served, driver, last: null, recorded: true };
  }
  if (served === "none") return { served, driver: null, last: null, recorded: false };
  const drivers = (some) => highest(some.map((each) => each.minimum_driver));
  const driver = drivers(rows.filter((each) => each.served === served)) ?? drivers(rows) ?? highest(Object.values(inferred));
  return { served, driver: driver ?? null, last: null, recorded: false };
}

function onGpu(asset, [sm, driver]) { // step 3
  const row = rowOf(asset, sm), branch = parts(driver)[0];
  const targets = asset.targets.map((each) => ({ ...each, at: each.target.split("@") }))
    .filter(({ at }) => Number(at[0]) === sm && parts(at[1])[0] === branch)
    .filter(({ at }) => row.driver || compare(parts(at[1]), parts(driver)) <= 0);
  const seen = targets.map((each) => each.standing);
  const surest = BASES.find((basis) => basis !== "assumed" && seen.includes(basis));
  const newer = asset.serves && branch > asset.serves.newest_branch;
  const basis = surest ?? (row.recorded && !newer ? "inferred" : "assumed");
  const need = row.served === "none" ? "sm" : row.last !== null && branch > row.last ? "retired"
    : seen.includes("failed") ? "failed"
    : !row.driver ? (["proven", "rehearsed"].includes(basis) ? null : "unrecorded")
    : compare(parts(driver), parts(row.driver)) < 0 ? "driver" : null;
  return { row, basis, need };
}

function fit(asset, host) {
  const glibc = asset.glibc ?? asset.serves?.glibc, needs = []; // step 1
  if (asset.platform !== host.platform) needs.push("platform");
  if (glibc && (!host.glibc || compare(parts(host.glibc), parts(glibc)) < 0)) needs.push("glibc");
  if (asset.flavour === "cuda" && !host.gpus.length) needs.push("gpu");
  const gpus = asset.flavour === "cuda" ? host.gpus.map((gpu) => onGpu(asset, gpu)) : [];
  const served = gpus.filter((gpu) => !gpu.need);
  return { asset, glibc, needs, gpus, served, fits: !needs.length && (asset.flavour === "cpu" || served.length > 0) };
}

function choose(release, host) {
  const all = release.assets.map((asset) => fit(asset, host));
  const picked = least(all.filter((each) => each.fits), ({ asset, served }) => [ // step 4
    asset.flavour === "cpu" ? 1 : 0, -served.length, Math.max(0, ...served.map((gpu) => BASES.indexOf(gpu.basis))),
    served.filter((gpu) => gpu.row.served !== "native").length, newestFirst(asset.toolkit), asset.file,
  ]);
  let others = all.filter((each) => !each.fits); // step 5
  if (picked) others = picked.asset.flavour === "cpu" && host.gpus.length ? others.filter((each) => each.asset.flavour === "cuda") : [];
  const nearest = least(others, ({ asset, glibc, needs, gpus }) => {
    const near = gpus.map((gpu) => [WEIGHTS[gpu.need] ?? 0, parts(gpu.row.driver), gpu.row.served === "native" ? 0 : 1]);
    const [weight, driver, compiled] = near.sort(compare)[0] ?? [0, [], 0];
    const sum = needs.reduce((total, need) => total + WEIGHTS[need], weight);
    return [sum, driver, needs.includes("glibc") ? parts(glibc) : [], compiled, newestFirst(asset.toolkit), asset.file];
  });
  return { picked, nearest };
}

const data = JSON.parse(readFileSync(process.argv[2], "utf8"));
const answers = data.vectors.map(({ release, machine }) => {
  const gpus = machine.gpus.map((target) => target.split("@")).map(([sm, driver]) => [Number(sm), driver]);
  const { picked, nearest } = choose(data.releases[release], { ...machine, gpus });
  const served = picked?.served ?? [], how = served.map((gpu) => gpu.row.served);
  const missing = nearest ? [...nearest.needs, ...nearest.gpus.map((gpu) => gpu.need).filter(Boolean)] : [];
  return {
    pick: picked?.asset.file ?? null,
    basis: served.length ? BASES[Math.max(...served.map((gpu) => BASES.indexOf(gpu.basis)))] : null,
    served: how.includes("jit") ? "jit" : how[0] ?? null,
    nearest: nearest?.asset.file ?? null,
    needs: [...new Set(missing)].sort(),
  };
});
console.log(JSON.stringify(answers));
