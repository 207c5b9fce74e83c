"""The pages of results: their tables and pictures are those of the rows, and leave nothing out."""

import re
import shutil
from collections import Counter

import pytest
import yaml
from matplotlib.colors import to_hex
from matplotlib.legend import Legend

from baselines.evaluation.rows import read_rows, write_rows
from benchmarks import report
from benchmarks.figures import speed, strength
from benchmarks.figures.drawing import trainings
from benchmarks.results import FOLDER
from benchmarks.rows import PUBLISHED, Committed, best_published, published
from benchmarks.tables import TABLES

TEXTS = {page: page.read_text(encoding="utf-8") for page in report.PAGES}


@pytest.fixture
def without_a_seed(tmp_path):
    """Return the committed rows, but for the third seed of `two cores` in 2048."""
    for path in FOLDER.glob("*.csv"):
        shutil.copy(path, tmp_path)
    rows = read_rows(tmp_path / "ntuple.csv")
    rows = [row for row in rows if (row["label"], row["train_seed"]) != ("two cores", "2")]
    write_rows(rows, tmp_path / "ntuple.csv")
    return Committed(tmp_path)


@pytest.mark.parametrize("page", report.PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_the_pages_are_those_of_the_committed_rows(page):
    assert report.fill(TEXTS[page], Committed()) == TEXTS[page]


def test_every_table_and_picture_stands_on_one_page_of_the_benchmarks():
    text = "".join(TEXTS[page] for page in report.PAGES[1:])
    stand = Counter(re.findall(r"<!-- table: ([\w-]+) -->|figures/(\w+)\.svg", text))
    names = [*((name, "") for name in TABLES), *(("", name) for name in report.PICTURES)]
    assert stand == dict.fromkeys(names, 1)


@pytest.mark.parametrize("name", report.PICTURES)
def test_pictures_show_the_committed_rows(name):
    """Another version of matplotlib may draw other bytes of the same data."""
    drawn, there = report.PICTURES[name](Committed()), (report.FIGURES / f"{name}.svg").read_bytes()
    (data,) = set(re.findall(rb"data [0-9a-f]{64}", drawn))
    assert data in there
    assert len(there) < 200_000
    assert drawn == report.PICTURES[name](Committed())


@pytest.fixture(scope="module")
def drawn():
    """Return by picture the figure and the data that it is drawn from."""
    asked = []
    with pytest.MonkeyPatch.context() as patch:
        for module in (strength, speed):
            patch.setattr(module, "svg", lambda *drawn: asked.append(drawn) or b"")
        for draw in report.PICTURES.values():
            draw(Committed())
    return dict(zip(report.PICTURES, asked, strict=True))


@pytest.mark.parametrize("name", ["learning", "scores", "speed", "search"])
def test_a_picture_draws_every_line_that_it_is_asked_for(name, drawn):
    figure, panels = drawn[name]
    for axis, lines in zip(figure.axes, panels.values(), strict=False):
        assert set(lines) <= {line.get_label() for line in axis.lines if len(line.get_xdata())}
    shown = {text.get_text() for legend in figure.findobj(Legend) for text in legend.texts}
    assert {label for lines in panels.values() for label in lines} <= shown


def test_a_kind_of_player_has_one_color_in_all_pictures(drawn):
    colors = {}
    for name in ("learning", "scores", "search", "tiles"):
        for axis in drawn[name][0].axes:
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
                bars = name == "tiles"
                drawn_in = handle.patches[0].get_facecolor() if bars else handle.get_color()
                player = re.split(r" \(|, \d+(?:-ply| min)", label)[0]
                colors.setdefault(player, set()).add(to_hex(drawn_in))
    assert len(colors) > 15
    assert {player: len(of) for player, of in colors.items()} == dict.fromkeys(colors, 1)
    looks = trainings(Committed(), ()).values()
    looks = [{name: look[name] for name in look if name != "label"} for look in looks]
    assert all(looks.count(look) == 1 for look in looks)


def test_no_two_players_of_a_panel_look_alike(drawn):
    lines = [axis.lines for axis in drawn["scores"][0].axes]
    bars = [[bar[0] for bar in axis.containers] for axis in drawn["tiles"][0].axes]
    looks = [[(line.get_color(), line.get_linestyle()) for line in panel] for panel in lines]
    looks += [[(bar.get_facecolor(), bar.get_hatch()) for bar in panel] for panel in bars]
    assert all(len(set(panel)) == len(panel) > 5 for panel in looks)


def test_no_line_joins_the_lowest_score_to_a_quantile(drawn):
    figure, panels = drawn["scores"]
    for axis, lines in zip(figure.axes, panels.values(), strict=True):
        for line, scores in zip(axis.lines, lines.values(), strict=True):
            assert line.get_xdata().tolist() == scores[1:-1]


def test_the_film_shows_the_game_that_is_played_now():
    game = report.film()
    assert report.is_current(report.FILM, game, report.SPEED, report.FRAMES)
    assert not report.is_current(report.FILM, game, report.SPEED, report.FRAMES - 1)


def test_a_missing_seed_is_visible_in_tables_legends_and_the_list_of_missing_rows(without_a_seed):
    table = TABLES["ntuple"](without_a_seed)
    seeds = {line[table.head.index("seeds")] for line in table.lines if line[-1] == "two cores"}
    assert seeds == {"2 of 3", "1"}  # of 2048, and of 2584
    assert b"n-tuple, two cores (2 of 3 seeds)" in strength.learning(without_a_seed)
    lacks, had = (TABLES["missing"](rows) for rows in (without_a_seed, Committed()))
    n, before = (re.findall(r"(\d+) rows? of `ntuple`", text) or [0] for text in (lacks, had))
    assert int(n[0]) == int(before[0]) + 4  # 1- to 3-ply, and downgraded


def test_published_results_are_compared_at_as_many_plies_or_at_the_next_more():
    assert [best_published("deep", depth)["depth"] for depth in (1, 2)] == [1, 3]
    assert best_published("fibonacci", 3) is None


def test_what_the_pages_say_in_words_is_so():
    def means(table, **columns):
        rows = Committed().rows(table)
        return [float(row["mean"]) for row in rows if columns.items() <= row.items()]

    hour = {"env": "Tiles2048-v0", "minutes": "60"}
    ppo, ppo_2 = (means("deep", label="ppo, an hour", depth=depth, **hour) for depth in "12")
    dqn, dqn_2 = (means("deep", label="dqn, an hour", depth=depth, **hour) for depth in "12")
    assert min(ppo) < max(dqn)
    assert min(dqn) < max(ppo)
    assert min(dqn_2) > max(ppo_2)
    (random,) = means("agents", preset="article")
    alone, searched = (means("recipe", label="article", depth=depth) for depth in "12")
    assert max(alone) < random < min(searched) / 1.9


@pytest.mark.parametrize("name", yaml.safe_load(PUBLISHED.read_text())["figures"])
def test_published_results_have_a_source(name):
    for row in published(name):
        source = row["source"]
        assert all((source.author, source.title, source.year, source.link))
        assert source.link.startswith("http") or source.link == "unknown"
